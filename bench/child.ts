import { fork, type ChildProcess } from 'node:child_process';
import { isAbsolute } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The commands of a child process, by name. Arguments and results are transferred as JSON. */
export type Commands = Readonly<Record<string, (argument: never) => unknown>>;

export interface ChildOptions {
  readonly arguments?: readonly string[];
  readonly nodeArguments?: readonly string[];
}

interface Question {
  readonly id: number;
  readonly name: string;
  readonly argument: unknown;
}
type Reply = { readonly id: number; readonly result: unknown } | { readonly id: number; readonly error: string };

interface Asked {
  readonly resolve: (result: never) => void;
  readonly reject: (error: Error) => void;
}

/** The time limit of any single command: the run ends by itself, whatever a child does. */
const COMMAND_MS = 300_000;
const STOP_MS = 20_000;

/** A child process of this run, called over its IPC channel. It ends on request, or together with this process. */
export class Child<C extends Commands> {
  private readonly asked = new Map<number, Asked>();
  private readonly ended: Promise<void>;
  private lastId = 0;

  private constructor(
    private readonly process: ChildProcess,
    private readonly path: string,
  ) {
    process.on('message', (reply: Reply) => this.take(reply));
    this.ended = new Promise((resolve) =>
      process.once('exit', (code) => {
        for (const { reject } of this.asked.values())
          reject(new Error(`${path} ended with ${code} while it was asked something.`));
        this.asked.clear();
        resolve();
      }),
    );
  }

  /** Starts the compiled module at `path`, relative to this folder or absolute. */
  static start<C extends Commands>(
    path: string,
    { arguments: given = [], nodeArguments = [] }: ChildOptions = {},
  ): Child<C> {
    const module = isAbsolute(path) ? path : fileURLToPath(new URL(path, import.meta.url));
    return new Child(fork(module, given, { execArgv: ['--enable-source-maps', ...nodeArguments] }), path);
  }

  /** Rejects when the child could not do it, has ended, or takes too long. */
  ask<K extends keyof C & string>(name: K, argument: Parameters<C[K]>[0]): Promise<Awaited<ReturnType<C[K]>>> {
    this.lastId += 1;
    const id = this.lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => this.settle(id, (asked) => asked.reject(new Error(`${this.path} did not answer ${name} in time.`))),
        COMMAND_MS,
      );
      this.asked.set(id, {
        resolve: (result) => {
          clearTimeout(timer);
          resolve(result);
        },
        reject: (error) => {
          clearTimeout(timer);
          reject(error);
        },
      });
      this.process.send({ id, name, argument } satisfies Question);
    });
  }

  /** Asks the child to end by closing its channel; ends it the hard way when it does not. */
  async stop(): Promise<void> {
    if (this.process.connected) this.process.disconnect();
    const timer = setTimeout(() => this.process.kill('SIGKILL'), STOP_MS);
    await this.ended;
    clearTimeout(timer);
  }

  /** Ends the child as a failure would, without notice. */
  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.ended;
  }

  private take(reply: Reply): void {
    this.settle(reply.id, (asked) => {
      if ('error' in reply) asked.reject(new Error(`${this.path}: ${reply.error}`));
      else asked.resolve(reply.result as never);
    });
  }

  private settle(id: number, how: (asked: Asked) => void): void {
    const asked = this.asked.get(id);
    this.asked.delete(id);
    if (asked) how(asked);
  }
}

/** The child's side: executes commands until the channel closes, then calls `stop` and ends the process. */
export function answerCommands(commands: Commands, stop: () => Promise<void> = () => Promise.resolve()): void {
  process.on('message', ({ id, name, argument }: Question) => {
    void answer(commands, { id, name, argument }).then((reply) => process.send?.(reply));
  });
  process.once('disconnect', () => void stop().finally(() => process.exit()));
}

async function answer(commands: Commands, { id, name, argument }: Question): Promise<Reply> {
  try {
    const command = commands[name] as ((argument: unknown) => unknown) | undefined;
    if (command === undefined) return { id, error: `there is no command ${name}` };
    return { id, result: (await command(argument)) ?? null };
  } catch (error) {
    return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
