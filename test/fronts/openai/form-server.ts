import { pino } from 'pino';
import { SystemClock } from '../../../adapters/system/system-clock.js';
import { SystemIds } from '../../../adapters/system/system-ids.js';
import { createHttpHost, createRouter, type HttpHost, type RoutedContext } from '../../../apps/http/host/server.js';
import { sendJson } from '../../../apps/http/openai/answer.js';
import { renderApiError } from '../../../apps/http/openai/errors.js';
import { type FileRules, readForm } from '../../../apps/http/openai/form.js';
import { type ApiParts, type Endpoint, toRoute } from '../../../apps/http/openai/operation.js';
import { Spool } from '../../../apps/http/openai/spool.js';
import type { Caller } from '../../../core/access/credential.js';
import { ServiceError } from '../../../core/errors.js';
import { collected } from '../../fixtures/byte-streams.js';
import { sha256Of } from '../../fixtures/sha256.js';
import { DEFAULT_REST_LIMITS } from '../../harness/http-fronts.js';

/** A server with one endpoint, which reads a form and responds with its content. */
export class FormServer {
  private constructor(
    private readonly host: HttpHost,
    readonly port: number,
    readonly spool: Spool,
  ) {}

  static async open({
    folder,
    maxBytes = 1024 ** 2,
    files = FILES,
    bodyTimeoutMs = 10_000,
    requestTimeoutMs = 60_000,
  }: {
    readonly folder: string;
    readonly maxBytes?: number;
    readonly files?: FileRules;
    readonly bodyTimeoutMs?: number;
    readonly requestTimeoutMs?: number;
  }): Promise<FormServer> {
    const spool = new Spool({ folder, maxBytes });
    const clock = new SystemClock();
    const parts = {
      context: { clock },
      access: {
        authenticate: async ({ req }: RoutedContext) => {
          if (req.headers.authorization === undefined) throw new ServiceError('DEVELOPER_TOKEN_REQUIRED');
          return CALLER;
        },
        follow: () => () => undefined,
      },
      rates: {},
      bodyTimeoutMs,
      requestTimeoutMs,
      spool,
    } as unknown as ApiParts;
    const endpoint: Endpoint = {
      method: 'POST',
      path: '/forms',
      rate: 'writes',
      async serve(ctx) {
        const form = await readForm(ctx, files);
        try {
          const read = await Promise.all(
            form.files.map(async (file) => ({ ...file, stored: sha256Of(await collected(await file.read())) })),
          );
          await sendJson(ctx, 200, { fields: { ...form.fields }, files: read });
        } finally {
          await form.close();
        }
      },
    };
    const host = createHttpHost(
      { ids: new SystemIds(), clock, logger: pino({ level: 'silent' }), limits: DEFAULT_REST_LIMITS, lingerMs: 100 },
      [() => [createRouter([toRoute(endpoint, parts)], '/v1', renderApiError)]],
    );
    const { port } = await host.listen('127.0.0.1', 0);
    return new FormServer(host, port, spool);
  }

  close(): Promise<void> {
    return this.host.close(0);
  }
}

const CALLER = { accountId: 'a', appId: 'b', credentialId: 'c', scopes: [] } as Partial<Caller> as Caller;

export const MAX_FILE_BYTES = 200_000;

export const FILES: FileRules = {
  image: { names: ['image', 'image[]'], most: 3, maxBytes: MAX_FILE_BYTES },
  mask: { names: ['mask'], most: 1, maxBytes: MAX_FILE_BYTES },
};

/** A part of a form. A part without a filename is a text. */
export interface SentPart {
  readonly name: string;
  readonly content: string | Uint8Array;
  readonly filename?: string;
  readonly headers?: readonly string[];
}

/** The bytes of a form. */
export function formBytes(parts: readonly SentPart[], boundary = 'edge-of-part'): Buffer {
  const pieces = parts.flatMap(({ name, content, filename, headers = [] }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`;
    const head = [`Content-Disposition: form-data; name="${name}"${file}`, ...headers].join('\r\n');
    return [`--${boundary}\r\n${head}\r\n\r\n`, content, '\r\n'];
  });
  return Buffer.concat([...pieces, `--${boundary}--\r\n`].map((piece) => Buffer.from(piece as Uint8Array)));
}
