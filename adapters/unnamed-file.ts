import { randomUUID } from 'node:crypto';
import { type FileHandle, open, readdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';

const PREFIX = 'darkroom-';
/** Small pieces are given back to the system sooner than large ones. */
const READ_BYTES = 16 * 1024;

/** A temporary file that has no name once it is open: the system frees its bytes when the process ends, however it does. */
export class UnnamedFile {
  private end = 0;

  private constructor(private readonly handle: FileHandle) {}

  /** Throws errors of the disk. */
  static async open(folder: string): Promise<UnnamedFile> {
    const path = join(folder, `${PREFIX}${randomUUID()}`);
    const handle = await open(path, 'wx+', 0o600);
    try {
      await removeName(path);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return new UnnamedFile(handle);
  }

  get byteSize(): number {
    return this.end;
  }

  /** A path for libraries that write files by name. They work on the file as long as it is open. */
  get path(): string {
    return `/dev/fd/${this.handle.fd}`;
  }

  /** The descriptor of the open file, to pass to another program. */
  get descriptor(): number {
    return this.handle.fd;
  }

  /** Leaves a hole, which is read as zeros and takes no space; bytes must follow. */
  skip(byteSize: number): void {
    this.end += byteSize;
  }

  /** Counts the bytes that a library has written. */
  async measure(): Promise<void> {
    this.end = (await this.handle.stat()).size;
  }

  /** Writes at the end. The calls must not overlap. Throws errors of the disk. */
  async append(piece: Uint8Array): Promise<void> {
    for (let done = 0; done < piece.byteLength;) {
      const { bytesWritten } = await this.handle.write(piece, done, piece.byteLength - done, this.end);
      done += bytesWritten;
      this.end += bytesWritten;
    }
  }

  /** The bytes from `from` on, which may be read several times. */
  async *read(from = 0, byteSize = this.end - from): AsyncGenerator<Uint8Array> {
    for (let done = 0; done < byteSize;) {
      const buffer = new Uint8Array(Math.min(READ_BYTES, byteSize - done));
      const { bytesRead } = await this.handle.read(buffer, 0, buffer.byteLength, from + done);
      if (bytesRead === 0) throw new Error('A temporary file has become shorter.');
      done += bytesRead;
      yield buffer.subarray(0, bytesRead);
    }
  }

  /** Frees the disk. */
  async close(): Promise<void> {
    await this.handle.close();
  }
}

/** Whether an error says that the disk is full. Image libraries have it in their text alone. */
export function isFullDisk(error: unknown): boolean {
  const { code = '', message = '' } = error as Partial<NodeJS.ErrnoException>;
  return ['ENOSPC', 'EDQUOT'].includes(code) || /no space left on device|disk quota exceeded/i.test(message);
}

const NAME = new RegExp(`^${PREFIX}[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$`);

/**
 * Removes the names of files whose process ended between opening them and removing the name. That of a file which another
 * process has just opened may be removed as well: that process is about to do the same. A folder that cannot be read is
 * left as it is.
 */
export async function removeLeftFiles(folder: string): Promise<void> {
  const names = await readdir(folder).catch(() => []);
  for (const name of names) if (NAME.test(name)) await unlink(join(folder, name)).catch(() => undefined);
}

async function removeName(path: string): Promise<void> {
  await unlink(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
  });
}
