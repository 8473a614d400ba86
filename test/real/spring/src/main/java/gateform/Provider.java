package gateform;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/** Spring Authorization Server with its client and user from the command line. */
@SpringBootApplication
public class Provider {
  public static void main(String[] arguments) {
    SpringApplication.run(Provider.class, arguments);
  }
}
