import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Worker } from '../../apps/worker/worker.js';
import { createGeneration } from '../../core/generation/create-generation.js';
import type { Generation } from '../../core/generation/generation.js';
import type { AcceptanceBatch } from '../../core/ports/stores.js';
import { openDarkroom, throughStores } from '../../test/harness/darkroom.js';
import { createCredential, openBenchProgram } from './program.js';
import { callerOf, SAMPLE_REQUEST } from './sample.js';

/** Makes a generation in a data folder, and returns its states from acceptance to settlement. */
export async function recordedStates(folder: string): Promise<readonly Generation[]> {
  const { program, config } = await openBenchProgram(folder);
  const states: Generation[] = [];
  const { settings, boot } = program.context;
  const around = throughStores(async (call) => {
    const { name, args } = call;
    if (name === 'acceptances.accept') states.push(...(args[0] as AcceptanceBatch).generations);
    if (name === 'generations.replace') states.push(args[0] as Generation);
    return call.proceed();
  });
  const context = openDarkroom({ ports: program.context, around, settings, boot });
  const worker = new Worker(context, { ...config.worker, workerId: 'recorded' });
  await worker.start();
  await createGeneration(context, callerOf(await createCredential(program)), randomUUID(), SAMPLE_REQUEST);
  while (states.at(-1)?.settledAt === undefined) await sleep(5);
  await worker.stop();
  await program.close();
  return states;
}
