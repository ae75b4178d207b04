import * as fs from 'node:fs';
import {
  runSmallFileJobs,
  type SmallFileJob,
  type SmallFileResult,
  type SmallFiles,
  type SyncDisk,
} from '../../../adapters/files/small-files.js';

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
