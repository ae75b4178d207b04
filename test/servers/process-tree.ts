import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The processes that a process has started and that have not ended. */
export function childrenOf(pid: number): number[] {
  const list = `/proc/${pid}/task/${pid}/children`;
  try {
    return numbersIn(readFileSync(list, 'utf8'));
  } catch {
    // The process has ended, or the system has no such list.
    return isGone(pid) ? [] : childrenInTable(pid);
  }
}

function childrenInTable(pid: number): number[] {
  const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' });
  return table
    .split('\n')
    .map(numbersIn)
    .flatMap(([child, parent]) => (child !== undefined && parent === pid ? [child] : []));
}

function numbersIn(text: string): number[] {
  return text.trim().split(/\s+/).filter(Boolean).map(Number);
}

/** Whether a process has ended. One that its parent has not taken note of yet, which may be the system's first, has. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  try {
    return /^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // No such table on this system, or gone between the two looks, which the next one finds.
    return false;
  }
}

/** Sends a signal to a process, unless it has just ended by itself. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
