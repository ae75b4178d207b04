import { readdir, readlink } from 'node:fs/promises';

/** How many files below `folder` this process holds open; undefined where the system does not tell. */
export async function openFilesUnder(folder: string): Promise<number | undefined> {
  const descriptors = await readdir('/proc/self/fd').catch(() => undefined);
  if (descriptors === undefined) return undefined;
  const paths = await Promise.all(descriptors.map(async (fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')));
  return paths.filter((path) => path.startsWith(folder)).length;
}
