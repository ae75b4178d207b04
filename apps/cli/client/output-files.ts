import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { link, rename, rm } from 'node:fs/promises';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { ReadableStream as WebReadable } from 'node:stream/web';
import {
  TransferError,
  type Darkroom,
  type GenerationTask,
  type Receive,
} from '../../../clients/typescript/src/index.js';
import { EXIT, Failure } from '../exit.js';
import { outputPath, type OutputOptions } from './output-path.js';

const UNWRITABLE = new Set(['ENOSPC', 'EACCES', 'EROFS', 'EISDIR', 'ENOENT', 'EDQUOT', 'ENAMETOOLONG']);

export interface DownloadOptions {
  /** Where relative paths begin. */
  readonly folder: string;
  /** Called for each file that was written. */
  readonly onFile?: () => void;
  /** Ends the download when it fires: its reason is thrown. */
  readonly signal?: AbortSignal;
}

/** Downloads all outputs and answers their paths: `name.png`, or `name-1.png` and on when there are several. */
export async function downloadOutputs(
  client: Darkroom,
  task: GenerationTask,
  { out, force = false }: OutputOptions,
  { folder, onFile = () => undefined, signal }: DownloadOptions,
): Promise<string[]> {
  const paths: string[] = [];
  for (const [index, output] of task.outputs.entries()) {
    const suffix = task.outputs.length > 1 ? `-${index + 1}` : '';
    const receive: Receive<string> = (bytes, { mediaType }) => {
      const path = outputPath(task, { out, from: folder }, suffix, mediaType);
      return write(Readable.fromWeb(bytes as WebReadable<Uint8Array>), path, { folder, force });
    };
    paths.push(await client.receive(output, receive, { signal }).catch(notDownloaded));
    onFile();
  }
  return paths;
}

function notDownloaded(error: unknown): never {
  throw error instanceof TransferError ? new Failure(`An output could not be downloaded: ${error.reason}.`) : error;
}

interface Target {
  readonly folder: string;
  readonly force: boolean;
}

/** The file appears complete or not at all, and replaces no other unless asked to. */
async function write(bytes: Readable, path: string, { folder, force }: Target): Promise<string> {
  const file = resolve(folder, path);
  const partial = `${file}.${randomBytes(4).toString('hex')}.part`;
  try {
    await pipeline(bytes, createWriteStream(partial));
    if (force) await rename(partial, file);
    else await link(partial, file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new Failure(`${path} already exists; give --force to overwrite it.`, EXIT.usage);
    if (UNWRITABLE.has(code ?? '')) {
      throw new Failure(`${path} cannot be written (${code}).`);
    }
    throw error;
  } finally {
    await rm(partial, { force: true });
  }
  return path;
}
