import type { Model, RouteEntry } from '../../catalog/model.js';
import type { Machine, Models, Money, Webhooks, Work } from '../../context.js';
import type { JsonObject } from '../../json.js';
import type { Provider } from '../../ports/provider.js';
import type { Settings } from '../../settings.js';
import { withoutAttempt } from '../decide.js';
import {
  type Generation,
  isTerminal,
  mayHaveResult,
  outputCountOf,
  runEndsAt,
  taskError,
  type TaskError,
} from '../generation.js';
import { changeGeneration, settleNowOrSoon } from '../settle-generation.js';
import { wake } from '../wake.js';

export interface Execution {
  readonly model: Model;
  readonly provider: Provider;
  /** The provider's name in the configuration. */
  readonly providerName: string;
  /** The catalog's settings for this model at this provider. */
  readonly settings: JsonObject;
}

/**
 * The ways in which this process can run a generation, in the order in which they are tried. A generation with an
 * attempt stays at the provider of that attempt. Empty if the catalog lacks the model, or if no provider of its route
 * is connected.
 */
export function executionsOf({ catalog, providers }: Models, g: Generation): readonly Execution[] {
  const model = catalog.find(g.modelKey);
  if (model === undefined) return [];
  const { attempt, notHere = [] } = g;
  const route = attempt === undefined ? routeOf(model, g.generationId) : model.route;
  return route.flatMap(({ provider: providerName, settings }) => {
    const provider = providers.find(providerName);
    if (provider === undefined) return [];
    if (attempt === undefined ? notHere.includes(providerName) : providerName !== providerOf(attempt, model)) return [];
    return [{ model, provider, providerName, settings }];
  });
}

/**
 * The providers of a model in the order in which one generation tries them: the first is drawn by weight from the
 * generation's id, the others follow in the catalog's order. The same id gives the same order everywhere.
 */
export function routeOf({ route }: Pick<Model, 'route'>, generationId: string): readonly RouteEntry[] {
  const total = route.reduce((sum, { weight }) => sum + weight, 0);
  let left = total === 0 ? 0 : hashOf(generationId) % total;
  for (const first of route) {
    if (left < first.weight) return [first, ...route.filter((entry) => entry !== first)];
    left -= first.weight;
  }
  return route;
}

/** FNV-1a with a final mix: ids that differ in one digit begin at unrelated places. An integer of 32 bits. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193) >>> 0;
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/**
 * Names of the providers, one of which must have room before a run continues, in the order in which they are tried.
 * Empty for a run that submits nothing, because its task is at a provider or is not wanted any more.
 */
export function providersNeeded(context: Models, g: Generation): readonly string[] {
  if (g.attempt !== undefined || g.cancelRequestedAt !== undefined || isTerminal(g.status)) return [];
  return executionsOf(context, g).map(({ providerName }) => providerName);
}

/** Whether the route has another provider for an attempt after the one that this run is for. */
export function hasOtherProvider(context: Models, g: Generation, { providerName }: Execution): boolean {
  return executionsOf(context, withoutAttempt(g)).some((other) => other.providerName !== providerName);
}

/** Names the provider that refused an undone attempt, for the generation's record. */
export function notHereOf(
  { isNotHere }: { readonly isNotHere: boolean },
  { providerName }: Pick<Execution, 'providerName'>,
): { readonly notHere?: string } {
  return isNotHere ? { notHere: providerName } : {};
}

/** The provider of an attempt; undefined for one of an earlier release whose model has several providers by now. */
export function providerOf(
  attempt: NonNullable<Generation['attempt']>,
  { route }: Pick<Model, 'route'>,
): string | undefined {
  return attempt.provider ?? (route.length === 1 ? route[0]?.provider : undefined);
}

/**
 * Used by a process that does not know the model, or the provider that has the task: another process may, during an
 * upgrade, once the catalog was reloaded, or always where workers have different providers. So the generation is left as
 * it is and examined later, by any process, each time after a quarter of the time that it has been idle, within the bounds
 * of a retry. Past its deadline it fails without charge. A task continues at its provider in the meantime, so a warning is
 * logged.
 */
export async function leaveToOthers(context: Money & Work & Models & Webhooks & Machine, g: Generation): Promise<null> {
  if (isTerminal(g.status)) return null;
  context.providerGates.missing.found(g);
  const ended = await endOverdue(context, g, taskError('MODEL_UNAVAILABLE'));
  if (ended !== null) {
    await settleNowOrSoon(context, ended);
    return null;
  }
  const now = context.clock.now();
  const deadlineAt = Math.max(now, deadlineOf(g));
  const { retryBaseMs, retryCapMs } = context.settings;
  const delayMs = Math.min(retryCapMs, Math.max(retryBaseMs, Math.floor((now - g.updatedAt) / 4)));
  wake(context, g.generationId, Math.min(now + delayMs, deadlineAt + 1));
  return null;
}

/** The error of a generation that no worker ran before its deadline, as far as this process can tell. */
export function lateError(context: Models, g: Generation): TaskError {
  return taskError(executionsOf(context, g).length === 0 ? 'MODEL_UNAVAILABLE' : 'TASK_TIMEOUT');
}

/** When a generation that no worker runs ends: queued, at its queue deadline. */
export function deadlineOf(g: Generation): number {
  return g.status === 'queued' ? g.terms.queueDeadlineAt : runEndsAt(g);
}

/**
 * Ends a generation that is past its deadline and that no worker runs; null where it is not, or its end was refused. One
 * whose provider may have the result gets the period for a last poll instead, once: a worker has to take it then.
 */
export async function endOverdue(context: Work & Machine, g: Generation, error: TaskError): Promise<Generation | null> {
  if (context.clock.now() <= deadlineOf(g)) return null;
  if (mayHaveResult(g) && g.lastPollBy === undefined) {
    await changeGeneration(context, g, { event: 'allow-last-poll', periodMs: lastPeriodMs(context.settings, g) });
    return null;
  }
  const event = g.status === 'queued' ? 'give-up' : 'expire';
  const { generation, refused } = await changeGeneration(context, g, { event, error });
  return refused === undefined ? generation : null;
}

/**
 * How long a result that is ready at the deadline may take to be collected, in milliseconds: one call for the last poll, and
 * one for each output.
 */
export function lastPeriodMs({ providerCallMs }: Pick<Settings, 'providerCallMs'>, g: Generation): number {
  return providerCallMs * (1 + outputCountOf(g));
}
