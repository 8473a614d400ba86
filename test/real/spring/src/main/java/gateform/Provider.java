package gateform;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.security.provisioning.UserDetailsManager;

/** Spring Authorization Server with its clients and user from the command line. A line on stdin removes the user of that name. */
@SpringBootApplication
public class Provider {
  public static void main(String[] arguments) throws IOException {
    var users = SpringApplication.run(Provider.class, arguments).getBean(UserDetailsManager.class);
    var lines = new BufferedReader(new InputStreamReader(System.in));
    for (String name; (name = lines.readLine()) != null; ) {
      users.deleteUser(name);
      System.out.println("Removed " + name);
    }
  }
}
