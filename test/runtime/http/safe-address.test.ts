import { expect, test } from "vitest";

import { addressKind, type AddressKind } from "../../../runtime/http/safe-address.ts";

const cases: readonly (readonly [address: string, kind: AddressKind])[] = [
  ["93.184.216.34", "public"],
  ["2606:2800:220:1::1", "public"],
  ["10.0.0.1", "private"],
  ["172.16.0.1", "private"],
  ["192.168.1.1", "private"],
  ["100.64.0.1", "private"],
  ["fc00::1", "private"],
  ["127.0.0.1", "loopback"],
  ["127.255.255.254", "loopback"],
  ["::1", "loopback"],
  ["[::1]", "loopback"],
  ["::ffff:127.0.0.1", "loopback"],
  ["::ffff:7f00:1", "loopback"],
  ["::ffff:10.0.0.1", "private"],
  ["64:ff9b::7f00:1", "loopback"],
  ["64:ff9b::a00:1", "private"],
  ["64:ff9b::5db8:d822", "public"],
  ["0.0.0.0", "forbidden"],
  ["::", "forbidden"],
  ["169.254.169.254", "forbidden"],
  ["169.254.1.1", "forbidden"],
  ["fe80::1", "forbidden"],
  ["fe80::1%eth0", "forbidden"],
  ["::ffff:169.254.169.254", "forbidden"],
  ["64:ff9b::a9fe:a9fe", "forbidden"],
  ["fd00:ec2::254", "forbidden"],
  ["100.100.100.200", "forbidden"],
  ["224.0.0.1", "forbidden"],
  ["ff02::1", "forbidden"],
  ["255.255.255.255", "forbidden"],
  ["240.0.0.1", "forbidden"],
  ["192.0.2.1", "forbidden"],
  ["198.18.0.1", "forbidden"],
  ["2002:7f00:1::", "forbidden"],
  ["2001:0:7f00:1::", "forbidden"],
  ["::7f00:1", "forbidden"],
  ["2001:db8::1", "forbidden"],
  ["", "forbidden"],
  ["example.com", "forbidden"],
];

test.each(cases)("addressKind() of %s is %s", (address, kind) => {
  expect(addressKind(address)).toBe(kind);
});
