/**
 * A small separate process between a test process and its servers: it is the servers' parent, and when the channel to
 * the test process closes, because the test process has ended in any way, it ends the servers and removes their data.
 * It leads a separate session, so that Ctrl-C reaches it only as that closing.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { chmodSync, closeSync, mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { childrenOf, sendSignal } from './process-tree.js';
import type { ServerOrder, StartMessage, SupervisorMessage } from './supervisor-messages.js';

/** How long a server may take to end by itself. */
const GRACE_MS = 10_000;

const scratch = mkdtempSync(join(tmpdir(), 'darkroom-servers-'));
// A server that runs as another user can enter its own folder, but cannot list the folders here.
chmodSync(scratch, 0o711);
const servers = new Map<ChildProcess, ServerOrder>();
let isLeaving = false;

process.on('message', ({ start, order }: StartMessage) => {
  try {
    startServer(start, order);
  } catch (error) {
    tell({ type: 'refused', start, reason: error instanceof Error ? error.message : String(error) });
  }
});
process.on('disconnect', leave);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, leave);
tell({ type: 'ready', scratch });

function startServer(start: number, order: ServerOrder): void {
  if (isLeaving) return;
  const log = openSync(order.logFile, 'a', 0o600);
  const child = spawn(order.program, [...order.args], {
    cwd: order.folder,
    env: order.environment,
    stdio: ['ignore', log, log],
    ...order.user,
  });
  closeSync(log);
  child.on('error', (error) => tell({ type: 'refused', start, reason: error.message }));
  if (child.pid === undefined) return;
  servers.set(child, order);
  child.on('exit', (code, signal) => {
    servers.delete(child);
    tell({ type: 'ended', start, code, signal });
    if (isLeaving) removeWhenLast();
  });
  tell({ type: 'started', start, pid: child.pid });
}

function tell(message: SupervisorMessage): void {
  // The other end may just have gone; the closing of the channel reports that.
  if (process.connected) process.send?.(message, () => undefined);
}

function leave(): void {
  if (isLeaving) return;
  isLeaving = true;
  for (const [child, { endSignal }] of servers) {
    child.kill(endSignal);
    // One that is paused takes note of nothing but SIGKILL.
    for (const pid of child.pid === undefined ? [] : [...childrenOf(child.pid), child.pid]) sendSignal(pid, 'SIGCONT');
  }
  setTimeout(() => {
    for (const child of servers.keys()) child.kill('SIGKILL');
  }, GRACE_MS).unref();
  removeWhenLast();
}

function removeWhenLast(): void {
  if (servers.size > 0) return;
  rmSync(scratch, { recursive: true, force: true, maxRetries: 5 });
  process.exit();
}
