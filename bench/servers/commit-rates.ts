import { openSqlite } from '../../adapters/sqlite/open-sqlite.js';
import { SystemIds } from '../../adapters/system/system-ids.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import type { Generation } from '../../core/generation/generation.js';
import { answerCommands } from '../child.js';
import { usageOfThisProcess } from '../usage.js';
import { createCredential, openBenchProgram } from './program.js';
import { callerOf, SAMPLE_REQUEST } from './sample.js';

/**
 * Writes generations to the store of the data folder named on the command line, with this number of concurrent
 * clients.
 */
const folder = process.argv[2] ?? '';
const generation = await sampleGeneration();
const ids = new SystemIds();
// The store alone, as only it counts its commits.
const stores = await openSqlite({ folder, role: 'server' });

async function sampleGeneration(): Promise<Generation> {
  const { program } = await openBenchProgram(folder);
  const credential = await createCredential(program);
  const created = await createGeneration(program.context, callerOf(credential), 'template', SAMPLE_REQUEST);
  await program.close();
  return created.generation;
}

export interface CommitsDone {
  readonly writes: number;
  readonly commits: number;
  readonly elapsedMs: number;
  readonly cpuMicros: number;
}

const commands = {
  async write({
    clients,
    durationMs,
  }: {
    readonly clients: number;
    readonly durationMs: number;
  }): Promise<CommitsDone> {
    const before = usageOfThisProcess();
    const { commits } = stores.counters;
    const beganAt = performance.now();
    let writes = 0;
    const drive = async (): Promise<void> => {
      while (performance.now() - beganAt < durationMs) {
        await stores.generations.insert({ ...generation, generationId: ids.uuid() });
        writes += 1;
      }
    };
    await Promise.all(Array.from({ length: clients }, drive));
    const elapsedMs = performance.now() - beganAt;
    return {
      writes,
      commits: stores.counters.commits - commits,
      elapsedMs,
      cpuMicros: usageOfThisProcess().cpuMicros - before.cpuMicros,
    };
  },
};

export type CommitCommands = typeof commands;

answerCommands(commands, () => stores.close());
