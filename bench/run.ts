import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Child, type Commands } from './child.js';
import type { Pairing, Server } from './compare.js';
import type { LoadCommands } from './load/generator.js';
import type { BareGrpcCommands } from './servers/bare-grpc.js';
import type { ControlCommands } from './servers/bare-koa.js';
import type { SubjectCommands } from './servers/subject.js';

/** The amount of work to measure. */
export interface Sizes extends Pairing {
  readonly connections: number;
  /** Generations in the store in the two states that growth compares. */
  readonly fewGenerations: number;
  readonly manyGenerations: number;
  /** The same in PostgreSQL. */
  readonly fewHistory: number;
  readonly manyHistory: number;
  /** The time limit for filling the store. */
  readonly fillLimitMs: number;
  readonly pacedCreates: number;
  readonly endToEndGenerations: number;
  /** For comparisons of several sides: the number of rounds, and the work per round where it is counted. */
  readonly rounds: number;
  /** How often the processes of two builds are restarted. */
  readonly restarts: number;
  readonly burst: number;
  readonly paced: number;
  /**
   * Pictures of 1 MB that a provider makes in a slice, concurrently and one after the other; fewer of larger ones.
   */
  readonly pictures: number;
  readonly picturesAlone: number;
  /** The same for videos of 200 MB. */
  readonly videos: number;
  readonly videosAlone: number;
  /** In the ledger of one account. */
  readonly ledgerEntries: number;
  /** Clients that wait at the same time. */
  readonly waiters: number;
  /** Connections on which nothing happens, and how often they are opened on a new process. */
  readonly idleConnections: number;
  readonly idleRounds: number;
}

export const FULL: Sizes = {
  pairs: 15,
  sliceMs: 800,
  warmUpRequests: 10_000,
  warmUpMs: 8_000,
  connections: 64,
  fewGenerations: 10_000,
  manyGenerations: 1_000_000,
  fewHistory: 100_000,
  manyHistory: 10_000_000,
  fillLimitMs: 210_000,
  pacedCreates: 500,
  endToEndGenerations: 3_000,
  rounds: 7,
  restarts: 10,
  burst: 300,
  paced: 40,
  pictures: 100,
  picturesAlone: 20,
  videos: 4,
  videosAlone: 2,
  ledgerEntries: 1_000_000,
  waiters: 5_000,
  idleConnections: 10_000,
  idleRounds: 3,
};

export const QUICK: Sizes = {
  pairs: 5,
  sliceMs: 400,
  warmUpRequests: 3_000,
  warmUpMs: 2_500,
  connections: 64,
  fewGenerations: 1_000,
  manyGenerations: 100_000,
  fewHistory: 1_000,
  manyHistory: 100_000,
  fillLimitMs: 20_000,
  pacedCreates: 100,
  endToEndGenerations: 500,
  rounds: 3,
  restarts: 3,
  burst: 100,
  paced: 40,
  pictures: 50,
  picturesAlone: 5,
  videos: 2,
  videosAlone: 1,
  ledgerEntries: 100_000,
  waiters: 1_000,
  idleConnections: 2_000,
  idleRounds: 1,
};

/** A process of the program, listening. */
export interface Subject extends Server {
  readonly child: Child<SubjectCommands>;
}

interface Stoppable {
  stop(): Promise<void>;
}

/** One run: its sizes, its folder, its load generator, and every process it started. */
export class Run {
  readonly load: Child<LoadCommands>;
  private readonly children: Stoppable[] = [];
  private readonly servers: Stoppable[] = [];
  private folders = 0;

  constructor(
    readonly sizes: Sizes,
    private readonly folder: string,
    private readonly profileFolder: string | undefined,
    /** A built checkout of another version. */
    readonly other: string | undefined,
  ) {
    this.load = this.start('./load/generator.js');
  }

  /** A new folder under the run's own. */
  newFolder(name: string): string {
    this.folders += 1;
    const path = join(this.folder, `${this.folders}-${name}`);
    mkdirSync(path);
    return path;
  }

  start<C extends Commands>(
    path: string,
    given: readonly string[] = [],
    nodeArguments: readonly string[] = [],
  ): Child<C> {
    const child = Child.start<C>(path, { arguments: given, nodeArguments });
    this.children.push(child);
    return child;
  }

  /**
   * The program over a data folder, listening; profiled when the run was asked to, `measured` when it is to count what it
   * does, and `polling` when the database is to tell it nothing.
   */
  async startSubject(dataFolder: string, ...modes: readonly ('measured' | 'polling')[]): Promise<Subject> {
    const profiling = this.profileFolder === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${this.profileFolder}`];
    const child = this.start<SubjectCommands>('./servers/subject.js', [dataFolder, ...modes], profiling);
    return { child, port: await child.ask('listen', undefined) };
  }

  /** The same program of another version. Throws when none was named. */
  async startOther(dataFolder: string): Promise<Subject> {
    if (this.other === undefined) throw new Error('There is no other version to start.');
    const child = this.start<SubjectCommands>(join(this.other, 'dist/bench/servers/subject.js'), [dataFolder]);
    return { child, port: await child.ask('listen', undefined) };
  }

  async startControl(): Promise<Server & { readonly child: Child<ControlCommands> }> {
    const child = this.start<ControlCommands>('./servers/bare-koa.js', [this.newFolder('control')]);
    return { child, port: await child.ask('listen', undefined) };
  }

  async startGrpcControl(): Promise<Server & { readonly child: Child<BareGrpcCommands> }> {
    const child = this.start<BareGrpcCommands>('./servers/bare-grpc.js', [this.newFolder('grpc-control')]);
    return { child, port: await child.ask('listen', undefined) };
  }

  /** A server that the run's processes use, to be stopped after them. */
  keep<S extends Stoppable>(server: S): S {
    this.servers.push(server);
    return server;
  }

  async stop(): Promise<void> {
    await Promise.all(this.children.map((child) => child.stop()));
    await Promise.all(this.servers.map((server) => server.stop()));
  }
}
