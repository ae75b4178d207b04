import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';

/**
 * Whether a process is stopped after SIGSTOP. The signal reaches one thread first, and the others may get some more work
 * done before they stop, so every thread is checked if the system shows them.
 */
export function isStopped(pid: number): boolean {
  const tasks = `/proc/${pid}/task`;
  if (!existsSync('/proc/self/task'))
    return execFileSync('ps', ['-o', 'state=', '-p', String(pid)], { encoding: 'utf8' }).startsWith('T');
  return namesIn(tasks).every((task) => {
    try {
      return /^\d+ \(.*\) [Tt]/.test(readFileSync(`${tasks}/${task}/stat`, 'utf8'));
    } catch {
      // The thread has ended since.
      return true;
    }
  });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // The process has ended since: nothing of it moves.
    return [];
  }
}
