import { randomUUID } from 'node:crypto';
import { open, unlink, type FileHandle } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { HttpAnswer } from '../http-answer.js';
import { jsonWithFiles, type EncodedFile, type JsonWithFilesOptions } from './json-with-files.js';

export interface SpooledFile {
  /** As a data URL declared it. */
  readonly mediaType?: string;
  /** The document has the address of the file instead of its bytes. */
  readonly address?: string;
  readonly byteSize: number;
  /** May be read several times, until the document is closed. */
  readonly bytes: AsyncIterable<Uint8Array>;
}

/** A JSON document whose files are on disk. */
export interface SpooledJson {
  /** With an empty string in the place of each file. */
  readonly json: unknown;
  /** By their JSON Pointers, in the order of the document. */
  readonly files: ReadonlyMap<string, SpooledFile>;
  /** Frees the disk. */
  close(): Promise<void>;
}

/** Small pieces are given back to the system sooner than large ones. */
const READ_BYTES = 16 * 1024;

/**
 * Reads an answer like `jsonWithFiles`, and keeps its files in a temporary file of `folder`, the system's own by default:
 * for documents that say after their files what they are. The file has no name once it is open, so nothing is left behind
 * if the process ends. Throws `HttpError`, and errors of the disk.
 */
export async function spooledJson(
  answer: HttpAnswer,
  { folder = tmpdir(), ...options }: JsonWithFilesOptions & { readonly folder?: string },
): Promise<SpooledJson> {
  const spool = await unnamedFile(folder).catch((error: unknown) => {
    answer.discard();
    throw error;
  });
  const files = new Map<string, SpooledFile>();
  try {
    let end = 0;
    const json = await jsonWithFiles(answer, options, async (file) => {
      const from = end;
      end = await written(spool, file, from);
      const [byteSize, { mediaType, address }] = [end - from, file];
      const bytes = { [Symbol.asyncIterator]: () => rangeOf(spool, from, byteSize) };
      files.set(file.pointer, {
        ...(mediaType === undefined ? {} : { mediaType }),
        ...(address === undefined ? {} : { address }),
        byteSize,
        bytes,
      });
    });
    return { json, files, close: () => spool.close() };
  } catch (error) {
    await spool.close();
    throw error;
  }
}

async function unnamedFile(folder: string): Promise<FileHandle> {
  const path = join(folder, `darkroom-${randomUUID()}`);
  const file = await open(path, 'wx+', 0o600);
  try {
    await unlink(path);
  } catch (error) {
    await file.close();
    throw error;
  }
  return file;
}

/** Where the file's bytes end. */
async function written(spool: FileHandle, { bytes }: EncodedFile, from: number): Promise<number> {
  let at = from;
  for await (const piece of bytes) {
    for (let done = 0; done < piece.byteLength;) {
      const { bytesWritten } = await spool.write(piece, done, piece.byteLength - done, at);
      done += bytesWritten;
      at += bytesWritten;
    }
  }
  return at;
}

async function* rangeOf(spool: FileHandle, from: number, byteSize: number): AsyncGenerator<Uint8Array> {
  for (let done = 0; done < byteSize;) {
    const buffer = new Uint8Array(Math.min(READ_BYTES, byteSize - done));
    const { bytesRead } = await spool.read(buffer, 0, buffer.byteLength, from + done);
    if (bytesRead === 0) throw new Error('A temporary file has become shorter.');
    done += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
