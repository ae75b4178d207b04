import { createServer, type Server } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { Readable } from 'node:stream';
import type { AddressInfo } from 'node:net';
import type { SignedObjectGate } from '../../adapters/signed-object-gate.js';

/** The CORS rules that a bucket needs for the pages of the service. */
const CORS = {
  'Access-Control-Allow-Methods': 'GET, PUT',
  'Access-Control-Allow-Headers': '*',
};

/** Signed URLs at a separate origin, like those of a bucket, with the CORS rules of the documentation. */
export class ObjectsElsewhere {
  /** Pages of this origin may read and write; of none while it is empty. */
  allowed = '';
  readonly methods: string[] = [];
  private server: Server | undefined;

  async serve(gate: SignedObjectGate): Promise<string> {
    const server = createServer((req, res) => {
      const { method = '', url = '', headers } = req;
      this.methods.push(method);
      const cors = this.allowed === '' ? {} : { ...CORS, 'Access-Control-Allow-Origin': this.allowed };
      if (method === 'OPTIONS') return void res.writeHead(204, cors).end();
      const [path = '', query = ''] = url.split('?');
      void gate
        .handle({ method, path, query: new URLSearchParams(query), headers, body: req })
        .then(async (answer) => {
          res.writeHead(answer.status, { ...answer.headers, ...cors });
          const { body } = answer;
          if (body === undefined || body instanceof Uint8Array) res.end(body);
          else await pipeline(Readable.from(body, { objectMode: false }), res);
        })
        .catch(() => res.destroy());
    });
    this.server = server;
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.server?.closeAllConnections();
    this.server?.close();
  }
}
