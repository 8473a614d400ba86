/** An https server on localhost that this process trusts, for documents that may only be read over https. */
import { createServer } from "node:https";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { getCACertificates, setDefaultCACertificates } from "node:tls";

import { makeCertificate } from "../../runtime/terraform/protocol/certificate.ts";

export interface DocumentHost {
  /** "https://localhost:PORT" */
  readonly origin: string;
  /** Requested paths so far. */
  readonly asked: readonly string[];
  /** Replaces what is answered from now on. */
  answer(handler: (request: IncomingMessage, response: ServerResponse) => void): void;
  /** Answers these JSON documents by path, and 404 elsewhere. */
  serve(files: Readonly<Record<string, object>>, headers?: Readonly<Record<string, string>>): void;
  close(): Promise<void>;
}

export async function startDocumentHost(): Promise<DocumentHost> {
  const certificate = makeCertificate(Date.now());
  const trusted = getCACertificates("default");
  setDefaultCACertificates([...trusted, certificate.certificate]);
  const asked: string[] = [];
  let handler = (_request: IncomingMessage, response: ServerResponse): void => void response.writeHead(404).end();
  const server = createServer({ key: certificate.privateKey, cert: certificate.certificate }, (request, response) => {
    asked.push(request.url ?? "");
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, "localhost", resolve));
  const { port } = server.address() as AddressInfo;
  const host: DocumentHost = {
    origin: `https://localhost:${port}`,
    asked,
    answer: (next) => void (handler = next),
    serve(files, headers = {}) {
      handler = (request, response) => {
        const file = files[request.url ?? ""];
        if (!file) response.writeHead(404).end();
        else response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(file));
      };
    },
    close: () =>
      new Promise((resolve) => {
        setDefaultCACertificates(trusted);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return host;
}
