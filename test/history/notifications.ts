import { type Finding, finding } from './finding.js';

/** The order in which a stream may tell the events of a generation. */
const EVENT_ORDER: readonly string[] = ['queued', 'running', 'progress', 'cancel_requested', 'ended'];

/** An event of a generation as one connection received it. */
export interface EventTold {
  readonly type: string;
  /** Its version, or the time of its last change. */
  readonly changed: number;
}

/** Whether an event of this type may not come after one of that type. */
export function comesBefore(type: string, other: string): boolean {
  return EVENT_ORDER.indexOf(type) < EVENT_ORDER.indexOf(other);
}

/** Invariant 23: on one connection, the events of a generation come in order, each but progress once. */
export function* checkEventOrder(told: string, before: EventTold | undefined, next: EventTold): Iterable<Finding> {
  if (before === undefined) return;
  const isAgain = next.type === before.type && next.type !== 'progress';
  if (comesBefore(next.type, before.type) || isAgain || next.changed < before.changed)
    yield finding`23: ${told}, of ${next.changed}, after ${before.type}, of ${before.changed}`;
}

/** Invariant 27: an endpoint receives only the events it wants, and only the true end of the generation. */
export function* checkWanted(
  told: string,
  event: string,
  { events }: { readonly events: readonly string[] },
  { status }: { readonly status: string },
): Iterable<Finding> {
  if (!events.includes(event)) yield finding`27: ${told}, and does not want that`;
  if (event !== 'generation.running' && event !== `generation.${status}`)
    yield finding`27: ${told}, which is ${status}`;
}

/** Invariant 27: a message id names one event of one generation at one endpoint, in all attempts. */
export class MessageIds {
  private readonly idOf = new Map<string, string>();
  private readonly nameOf = new Map<string, string>();

  /** `name` says endpoint, generation and event. */
  *check(messageId: string, name: string): Iterable<Finding> {
    const [known, named] = [this.idOf.get(name) ?? messageId, this.nameOf.get(messageId) ?? name];
    if (known !== messageId) yield finding`27: ${name} came as ${known} and as ${messageId}`;
    if (named !== name) yield finding`27: ${messageId} names ${named} and ${name}`;
    this.idOf.set(name, messageId);
    this.nameOf.set(messageId, name);
  }
}
