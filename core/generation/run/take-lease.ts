import type { Context } from '../../context.js';
import { changeGeneration, changeOnce } from '../change-generation.js';
import type { Generation } from '../generation.js';
import { settleNowOrSoon } from '../settle-generation.js';
import { taskError, type TaskError } from '../task-errors.js';
import { deadlineOf } from './overdue.js';
import { executionsOf, leaveToOthers, providersNeeded, type Execution } from './unknown-model.js';

export interface Taken extends Execution {
  readonly generation: Generation;
  /** When the write began that took the lease, by the monotonic clock: the lease holds from then on. */
  readonly leasedAt: number;
  /** Whether its first attempt was begun with the lease. */
  readonly isFresh: boolean;
}

/** The newest version of a generation that has to be looked at anew: it needs room elsewhere, or has just changed. */
export interface NeedsRoom {
  readonly needsRoom: Generation;
}

/**
 * Takes the lease of a generation for this worker, which has room at `provider`, or answers null when there is nothing to
 * take: it has ended, another worker has it, this one does not know its model, or it could no longer be started and was
 * failed.
 */
export async function takeLease(
  context: Context,
  worker: string,
  generationId: string,
  provider?: string,
): Promise<Taken | NeedsRoom | null> {
  const record = await context.generations.read(generationId);
  if (record?.kind !== 'generation') return null;
  const executions = executionsOf(context, record);
  const execution = executions.find(({ providerName }) => providerName === provider) ?? executions[0];
  if (execution === undefined) return leaveToOthers(context, record);
  const isLate = context.clock.now() > deadlineOf(record);
  if (!isLate && needsOther(context, record, provider)) return { needsRoom: record };
  const { leaseMs } = context.settings;
  const leasedAt = context.clock.monotonic();

  if (record.status === 'running') {
    // The execution is right for this version alone: another worker may have begun an attempt elsewhere since.
    const generation = await changeOnce(context, record, { event: 'take-over', worker, leaseMs });
    return generation === undefined ? changed(context, record) : { generation, leasedAt, ...execution, isFresh: false };
  }
  if (record.status !== 'queued') return null;

  const obstacle = isLate ? TOO_LATE : await obstacleTo(context, record);
  if (obstacle) return giveUp(context, record, obstacle);
  const startedAt = context.clock.monotonic();
  const { generation, refused } = await changeGeneration(context, record, {
    event: 'start',
    worker,
    leaseMs,
    token: context.ids.uuid(),
    provider: execution.providerName,
  });
  if (refused === 'DEADLINE_PASSED') return giveUp(context, generation, TOO_LATE);
  return refused === undefined ? { generation, leasedAt: startedAt, ...execution, isFresh: true } : null;
}

const TOO_LATE = taskError('TASK_TIMEOUT', 'The generation waited too long for its turn.');

function needsOther(context: Context, g: Generation, provider: string | undefined): boolean {
  const needed = providersNeeded(context, g);
  return needed.length > 0 && (provider === undefined || !needed.includes(provider));
}

async function obstacleTo(context: Context, g: Generation): Promise<TaskError | undefined> {
  for (const reference of g.references) {
    if (!(await context.objects.stat(reference.objectKey)))
      return taskError('INPUT_INVALID', 'A reference file is no longer kept.');
  }
  return undefined;
}

async function changed({ generations }: Context, g: Generation): Promise<NeedsRoom | null> {
  const newest = await generations.read(g.generationId);
  return newest?.kind === 'generation' && newest.version !== g.version ? { needsRoom: newest } : null;
}

async function giveUp(context: Context, g: Generation, error: TaskError): Promise<null> {
  const { generation, refused } = await changeGeneration(context, g, { event: 'give-up', error });
  if (refused === undefined) await settleNowOrSoon(context, generation);
  return null;
}
