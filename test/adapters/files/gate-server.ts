import { once } from 'node:events';
import * as fs from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FileObjectStore, type FileObjectStoreOptions } from '../../../adapters/files/file-object-store.js';
import {
  runSmallFileJobs,
  type SmallFileJob,
  type SmallFileResult,
  type SmallFiles,
  type SyncDisk,
} from '../../../adapters/files/small-files.js';

/** A store in its own folder, behind a bare HTTP server. */
export interface ServedStore {
  readonly store: FileObjectStore;
  readonly folder: string;
  readonly baseUrl: string;
  /** The next request, once its head has arrived; `handled` resolves when it is answered, or was given up. */
  nextRequest(): Promise<{ readonly handled: Promise<void> }>;
  close(): Promise<void>;
}

async function serve(store: FileObjectStore, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const answer = await store.signedObjects.handle({
    method: request.method ?? '',
    path: pathname,
    query: searchParams,
    headers: request.headers,
    body: request,
  });
  response.writeHead(answer.status, { ...answer.headers });
  if (answer.body === undefined) response.end();
  // A client that goes away ends the pipeline early; that is its right.
  else await pipeline(Readable.from(answer.body, { objectMode: false }), response).catch(() => undefined);
}

export async function serveStore(options: Partial<FileObjectStoreOptions> = {}): Promise<ServedStore> {
  const folder = await mkdtemp(join(tmpdir(), 'darkroom-objects-'));
  let store: FileObjectStore;
  const server: Server = createServer((request, response) => {
    const handled = serve(store, request, response);
    server.emit('handling', { handled: handled.catch(() => undefined) });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const clock = { now: () => Date.now() };
  store = await FileObjectStore.open({
    folder,
    publicBaseUrl: () => baseUrl,
    secret: new Uint8Array(32).fill(1),
    clock,
    ...options,
  });
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  };
  const nextRequest = async () => (await once(server, 'handling'))[0] as { readonly handled: Promise<void> };
  return { store, folder, baseUrl, nextRequest, close };
}

/** Small files on this thread, over the real disk but for the calls given. */
export function smallFilesOver(calls: Partial<SyncDisk>): SmallFiles {
  const disk = { ...fs, ...calls } as SyncDisk;
  const act = async (job: SmallFileJob): Promise<SmallFileResult> => {
    const [result] = runSmallFileJobs(disk, [job]);
    if (typeof result === 'object' && 'code' in result) throw Object.assign(new Error(result.code), result);
    return result as SmallFileResult;
  };
  return {
    write: async (incoming, target, bytes) => void (await act({ kind: 'write', incoming, target, bytes })),
    read: async (path, maxBytes) => (await act({ kind: 'read', path, maxBytes })) as Uint8Array | 'missing' | 'larger',
    remove: async (path) => void (await act({ kind: 'remove', path })),
  };
}
