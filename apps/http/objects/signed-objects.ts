import type { SignedObjectGate } from '../../../adapters/signed-object-gate.js';
import { streamBody } from '../host/send.js';
import { createRouter, type HttpFront } from '../host/server.js';

/** Serves `/objects/…`: hands every request to the gate and streams its answer. The signature stays out of the log. */
export function signedObjects(gate: SignedObjectGate): HttpFront {
  return () => [
    createRouter([
      {
        method: 'any',
        path: '/objects/{*key}',
        async serve(ctx) {
          const { req, res, state, method } = ctx;
          state.route = '/objects/:key';
          const { path, query } = state.target;
          const { status, headers, body } = await gate.handle({
            method,
            path,
            query: new URLSearchParams(query),
            headers: req.headers,
            body: req,
          });
          res.removeHeader('Content-Security-Policy');
          await streamBody(ctx, { status, headers, body });
        },
      },
    ]),
  ];
}
