import { constants, writeFileSync } from 'node:fs';
import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SlowLine } from '../fixtures/slow-line.js';
import type { FoundProgram } from './find-program.js';
import { freePort } from './free-port.js';
import { copyInitialised, giveAway } from './postgres.js';
import { queryOnce, withClient } from './postgres-client.js';
import { ServerProcess } from './server-process.js';

const POLL_MS = 10;

export interface ClusterOptions {
  /** The major version; 18 if absent. */
  readonly version?: '18' | '15';
  /** The number of replicas; 1 if absent. */
  readonly replicas?: number;
  /** The setting of the current primary, such as `*` or `ANY 1 (b, c)`; if absent, no write waits for a replica. */
  readonly synchronousStandbyNames?: string;
  /** The setting of every node; `on` if absent. */
  readonly synchronousCommit?: 'on' | 'remote_apply' | 'remote_write' | 'local' | 'off';
  /** The latency between two nodes in each direction, in milliseconds; 0 if absent. It does not affect clients. */
  readonly delayMs?: number;
  /** Additional lines for the configuration file of every node. */
  readonly lines?: readonly string[];
}

interface Node {
  readonly name: string;
  /** The replicas that its writes wait for while it is the primary. */
  standbyNames: string;
  server: ServerProcess;
  /** The line over which other nodes connect to it. */
  line: SlowLine;
  isReplica: boolean;
}

/**
 * A PostgreSQL primary with streaming replicas, for tests of crashes and failover. The nodes are named a, b, c and so on, and
 * methods take these names. The cluster ends with the test process.
 */
export class PostgresCluster {
  private readonly nodes: Node[] = [];
  private primaryName = 'a';

  private constructor(private readonly options: ClusterOptions) {}

  /** Starts a cluster, and waits until every replica follows. Throws ServerAbsent if PostgreSQL is not on this machine. */
  static async start(options: ClusterOptions = {}): Promise<PostgresCluster> {
    const cluster = new PostgresCluster(options);
    try {
      for (const name of 'abcdefgh'.slice(0, 1 + (options.replicas ?? 1))) await cluster.add(name);
      await cluster.untilFollowed();
    } catch (error) {
      await cluster.close();
      throw error;
    }
    return cluster;
  }

  /** The name of the node that was promoted last, or of the first one. */
  get primary(): string {
    return this.primaryName;
  }

  get names(): readonly string[] {
    return this.nodes.map(({ name }) => name);
  }

  /** The URL with all hosts, in the form of libpq. */
  get url(): string {
    return `postgres://postgres@${this.nodes.map(({ server }) => `127.0.0.1:${server.port}`).join(',')}/postgres`;
  }

  /** The URL of one node; of the primary if none is named. */
  urlOf(name = this.primaryName): string {
    return this.node(name).server.url;
  }

  /** The ids of the main processes of the running nodes. */
  get pids(): readonly number[] {
    return this.nodes.flatMap(({ server }) => server.pid ?? []);
  }

  /** Kills all processes of a node at once, like a crash of its machine, and waits until they have ended. */
  async kill(name: string): Promise<void> {
    await this.node(name).server.kill();
  }

  /** Suspends all processes of a node at any point of their work; their connections stay open. */
  async freeze(name: string): Promise<void> {
    await this.node(name).server.pause();
  }

  thaw(name: string): void {
    this.node(name).server.resume();
  }

  /**
   * Restarts a node on its own data; if it runs, it is shut down first. A former primary starts as a second primary beside the
   * new one.
   */
  async restart(name: string): Promise<void> {
    await this.node(name).server.restart();
  }

  /** Cuts the connections from other nodes to a node, until `connect`. */
  disconnect(name: string): void {
    this.node(name).line.cut();
  }

  connect(name: string): void {
    this.node(name).line.heal();
  }

  /**
   * Promotes a replica, and waits until it accepts writes. The other running replicas then follow it; the former primary is not
   * changed.
   */
  async promote(name: string): Promise<void> {
    await queryOnce(this.urlOf(name), 'SELECT pg_promote()');
    this.primaryName = name;
    this.node(name).isReplica = false;
    for (const node of this.nodes) if (node.isReplica) await this.configure(node);
  }

  /** Sets the replicas that writes wait for, on one node or on every node, and waits until the setting is active. */
  async setSynchronousStandbyNames(standbyNames: string, only?: string): Promise<void> {
    for (const node of this.nodes) {
      if (only !== undefined && node.name !== only) continue;
      node.standbyNames = standbyNames;
      await this.configure(node);
    }
    for (;;) {
      const [row] = await queryOnce(this.urlOf(only), 'SHOW synchronous_standby_names');
      if (row?.['synchronous_standby_names'] === standbyNames) return;
      await sleep(POLL_MS);
    }
  }

  /** Makes a node, or a former primary, a replica of the current primary: a copy of the primary's data replaces its own. */
  async rejoin(name: string): Promise<void> {
    const node = this.node(name);
    const { port } = node.server;
    await remove(node.server);
    const from = this.node(this.primaryName).server;
    node.server = await this.started({ name, port, isReplica: true }, (to) => copyOfRunning(from, to));
    node.isReplica = true;
    await this.untilFollowed(name);
  }

  /** Waits until the named replicas, or all running ones, have applied everything that the primary has written so far. */
  async untilFollowed(...names: readonly string[]): Promise<void> {
    const running = this.nodes.filter(({ isReplica, server }) => isReplica && server.pid !== undefined);
    const wanted = names.length > 0 ? names : running.map(({ name }) => name);
    const [position] = await queryOnce(this.urlOf(), 'SELECT pg_current_wal_lsn() AS lsn');
    for (;;) {
      const rows = await queryOnce(
        this.urlOf(),
        `SELECT application_name FROM pg_stat_replication WHERE state = 'streaming' AND replay_lsn >= $1`,
        [position?.['lsn']],
      );
      if (wanted.every((name) => rows.some((row) => row['application_name'] === name))) return;
      await sleep(POLL_MS);
    }
  }

  async close(): Promise<void> {
    for (const { line } of this.nodes) line.close();
    await Promise.all(this.nodes.map(({ server }) => remove(server)));
  }

  private node(name: string): Node {
    const found = this.nodes.find((node) => node.name === name);
    if (!found) throw new Error(`The cluster has no node ${name}.`);
    return found;
  }

  private async add(name: string): Promise<void> {
    const isReplica = this.nodes.length > 0;
    const port = await freePort();
    const server = await this.started({ name, port, isReplica }, (data, found) => copyInitialised(found, data));
    try {
      const line = await SlowLine.open(server.port, this.options.delayMs ?? 0);
      this.nodes.push({ name, server, line, isReplica, standbyNames: this.options.synchronousStandbyNames ?? '' });
    } catch (error) {
      await remove(server);
      throw error;
    }
  }

  private async started(
    { name, port, isReplica }: { readonly name: string; readonly port: number; readonly isReplica: boolean },
    fill: (data: string, found: FoundProgram) => Promise<void>,
  ): Promise<ServerProcess> {
    return ServerProcess.start(`postgres-${this.options.version ?? '18'}`, {
      port,
      lines: this.linesOf(name),
      fill: async (data, found) => {
        await fill(data, found);
        if (isReplica) writeFileSync(join(data, 'standby.signal'), '');
      },
    });
  }

  private async configure({ name, server }: Node): Promise<void> {
    await server.configure(this.linesOf(name));
  }

  private linesOf(name: string): string {
    const primary = this.nodes.find((node) => node.name === this.primaryName);
    const own = this.nodes.find((node) => node.name === name);
    const address = `host=127.0.0.1 user=postgres application_name=${name} connect_timeout=2`;
    return [
      `synchronous_standby_names = '${own?.standbyNames ?? this.options.synchronousStandbyNames ?? ''}'`,
      `synchronous_commit = '${this.options.synchronousCommit ?? 'on'}'`,
      ...(primary ? [`primary_conninfo = '${address} port=${primary.line.port}'`] : []),
      `wal_sender_timeout = '10s'`,
      `wal_receiver_timeout = '10s'`,
      ...(this.options.lines ?? []),
    ].join('\n');
  }
}

async function remove(server: ServerProcess): Promise<void> {
  await server.kill();
  await server.stop();
}

/** Folders whose contents a copy does not need, because the server recreates them. */
const UNNEEDED = ['pg_wal', 'pg_replslot', 'pg_dynshmem', 'pg_notify', 'pg_serial', 'pg_snapshots', 'pg_stat_tmp'];
const LOCKS = ['postmaster.pid', 'postmaster.opts'];

/** Copies the data of a server during its writes: the copy becomes consistent when it follows that server. */
async function copyOfRunning(from: ServerProcess, to: string): Promise<void> {
  await withClient(from.url, async (client) => {
    await client.query(`SELECT pg_backup_start('copy', true)`);
    await copyFolder(from.data, to);
    const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)');
    const label = join(to, 'backup_label');
    writeFileSync(label, rows[0]?.labelfile ?? '');
    giveAway(label);
  });
}

async function copyFolder(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const [source, copy] = [join(from, entry.name), join(to, entry.name)];
    if (entry.isDirectory()) {
      await mkdir(copy, { mode: 0o700 });
      if (!UNNEEDED.includes(entry.name)) await copyFolder(source, copy);
    } else if (LOCKS.includes(entry.name)) continue;
    else if (!(await isCopied(source, copy))) continue;
    giveAway(copy);
  }
}

/** Copies a file; returns false if the server has removed it meanwhile. */
async function isCopied(source: string, copy: string): Promise<boolean> {
  try {
    await copyFile(source, copy, constants.COPYFILE_FICLONE);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
