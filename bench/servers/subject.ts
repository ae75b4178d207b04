import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger, logTo } from '../../apps/logging.js';
import { measuredPorts } from '../../apps/metrics/measured-ports.js';
import { Metrics } from '../../apps/metrics/metrics.js';
import { createRestServer } from '../../apps/rest/server.js';
import { Worker } from '../../apps/worker/worker.js';
import { Authenticator } from '../../core/access/authenticate.js';
import { createContext, type Context } from '../../core/context.js';
import type { Provider } from '../../core/ports/provider.js';
import { answerCommands } from '../child.js';
import { machineMicros, usageOfThisProcess } from '../usage.js';
import { createCredential, openBenchProgram, type Credential } from './program.js';

/**
 * The program under measurement, in a process of its own, over the data folder named on the command line; `measured` after
 * that has it count what it does, as with a port for metrics.
 */
const { program, config } = await openBenchProgram(process.argv[2] ?? '');

/** When each generation was handed to its provider. */
const submittedAtMicros = new Map<string, number>();
const metrics = process.argv[3] === 'measured' ? new Metrics() : undefined;
metrics?.process.start();
const { settings } = program.context;
const counting = metrics ? createContext(measuredPorts(program.context, metrics), settings, metrics.warnings.counted(logTo(createLogger(config.log)))) : program.context;
const context: Context = { ...counting, providers: { find: (name) => recorded(counting.providers.find(name)) } };

const rest = createRestServer({
  context,
  authenticator: new Authenticator(context),
  logger: createLogger(config.log),
  limits: config.rest.limits,
  ...(program.signedObjects ? { signedObjects: program.signedObjects } : {}),
  readiness: () => Promise.resolve(true),
  ...(metrics ? { observer: metrics.http } : {}),
});
let worker: Worker | undefined;

function isWorking(): boolean {
  return worker !== undefined && worker.counts.running + worker.counts.waiting > 0;
}

function recorded(provider: Provider | undefined): Provider | undefined {
  if (provider === undefined) return undefined;
  return {
    submit: (submission) => {
      submittedAtMicros.set(submission.generationId, machineMicros());
      return provider.submit(submission);
    },
    poll: (...of) => provider.poll(...of),
    output: (...of) => provider.output(...of),
    cancel: (...of) => provider.cancel(...of),
    recover: (...of) => provider.recover(...of),
  };
}

const commands = {
  listen: async () => (await rest.listen('127.0.0.1', 0)).port,
  createCredential: () => createCredential(program),

  /** From now on what is created is run in this process too. */
  async startWorker(): Promise<void> {
    worker = new Worker(context, { ...config.worker, workerId: `bench-${process.pid}` });
    await worker.start();
  },

  /** Hands over what was recorded of submissions, and forgets it. */
  takeSubmissions(): (readonly [generationId: string, atMicros: number])[] {
    const taken = [...submittedAtMicros];
    submittedAtMicros.clear();
    return taken;
  },

  /** Waits until every generation of the account has ended and is settled; answers when that was. */
  async drained({ accountId }: Pick<Credential, 'accountId'>): Promise<number> {
    for (;;) {
      while (isWorking()) await sleep(2);
      const endedAtMicros = machineMicros();
      if ((await context.accounts.read(accountId))?.holds.size === 0) return endedAtMicros;
      await sleep(20);
    }
  },

  usage: usageOfThisProcess,
};

export type SubjectCommands = typeof commands;

answerCommands(commands, async () => {
  await Promise.all([rest.close(100), worker?.stop()]);
  await program.close();
});
