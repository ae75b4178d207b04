import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** The running child processes of a process. */
export function childrenOf(pid: number): number[] {
  const list = `/proc/${pid}/task/${pid}/children`;
  try {
    return numbersIn(readFileSync(list, 'utf8'));
  } catch {
    // The process has ended, or the system does not provide this list.
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

/** Whether a process has ended. A zombie, whose parent has not waited for it yet, has ended. */
export function isGone(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return true;
  }
  try {
    return /^\d+ \(.*\) [ZX]/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    // The system has no such file, or the process ended between the two checks, which the next call detects.
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
