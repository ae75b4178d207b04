import { answerCommands } from '../child.js';
import { usageOfThisProcess } from '../usage.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import { createCredential, openBenchProgram } from './program.js';
import { callerOf, SAMPLE_REQUEST } from './sample.js';

/** Writes generations into the store of the data folder named on the command line, by so many clients at once. */
const { program } = await openBenchProgram(process.argv[2] ?? '');
const { context, stores } = program;
const credential = await createCredential(program);
const { generation } = await createGeneration(context, callerOf(credential), 'template', SAMPLE_REQUEST);

export interface CommitsDone {
  readonly writes: number;
  readonly commits: number;
  readonly elapsedMs: number;
  readonly cpuMicros: number;
}

const commands = {
  async write({ clients, durationMs }: { readonly clients: number; readonly durationMs: number }): Promise<CommitsDone> {
    const before = usageOfThisProcess();
    const { commits } = stores.counters;
    const beganAt = performance.now();
    let writes = 0;
    const drive = async (): Promise<void> => {
      while (performance.now() - beganAt < durationMs) {
        await context.generations.insert({ ...generation, generationId: context.ids.uuid() });
        writes += 1;
      }
    };
    await Promise.all(Array.from({ length: clients }, drive));
    const elapsedMs = performance.now() - beganAt;
    return { writes, commits: stores.counters.commits - commits, elapsedMs, cpuMicros: usageOfThisProcess().cpuMicros - before.cpuMicros };
  },
};

export type CommitCommands = typeof commands;

answerCommands(commands, () => program.close());
