import type { Json, JsonObject } from '../../core/json.js';

const ORDER = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;

interface Seen {
  status: string;
  chargedCredits: number;
  updatedAt: string;
}

export interface SentCreate {
  readonly key: string;
  readonly body: JsonObject;
  /** The generation that a 202 named; absent while the outcome is unknown. */
  generationId?: string;
}

/** The answers that clients received, and the contradictions between them: a changed id, a status that went back. */
export class ClientHistory {
  readonly creates: SentCreate[] = [];
  readonly contradictions: string[] = [];
  private readonly seen = new Map<string, Seen>();

  get accepted(): SentCreate[] {
    return this.creates.filter(({ generationId }) => generationId !== undefined);
  }

  get unknown(): SentCreate[] {
    return this.creates.filter(({ generationId }) => generationId === undefined);
  }

  noteAccepted(create: SentCreate, task: JsonObject): void {
    const id = textOf(task, 'generation_id');
    if (create.generationId !== undefined && create.generationId !== id)
      this.contradictions.push(`key ${create.key} named ${create.generationId}, then ${id}`);
    create.generationId = id;
    this.noteTask(task);
  }

  /** A task as an answer showed it. `sentAt` orders nothing: call this in the order in which the requests were sent. */
  noteTask(task: JsonObject): void {
    const id = textOf(task, 'generation_id');
    const now: Seen = {
      status: textOf(task, 'status'),
      chargedCredits: Number(task['charged_credits']),
      updatedAt: textOf(task, 'updated_at'),
    };
    const before = this.seen.get(id);
    if (before && isBack(before, now))
      this.contradictions.push(`${id} went from ${JSON.stringify(before)} to ${JSON.stringify(now)}`);
    this.seen.set(id, now);
    this.noteShape(id, task);
  }

  private noteShape(id: string, task: JsonObject): void {
    const isOver = ['succeeded', 'failed', 'cancelled'].includes(textOf(task, 'status'));
    const outputs = task['outputs'] as Json[];
    const faults = [
      isOver === (task['completed_at'] === undefined) && 'completed_at does not fit its status',
      isOver === (task['poll_after_ms'] !== undefined) && 'poll_after_ms does not fit its status',
      (task['status'] === 'failed') === (task['error'] === undefined) && 'error does not fit its status',
      task['status'] === 'succeeded' && outputs.length === 0 && 'it succeeded without outputs',
      Number(task['charged_credits']) > Number(task['reserved_credits']) && 'it is charged more than was reserved',
    ];
    for (const fault of faults) if (fault !== false) this.contradictions.push(`${id}: ${fault}`);
  }
}

function isBack(before: Seen, now: Seen): boolean {
  const wentBack = ORDER.indexOf(now.status as never) < Math.min(ORDER.indexOf(before.status as never), 2);
  const changedAtTheEnd = ORDER.indexOf(before.status as never) >= 2 && before.status !== now.status;
  return wentBack || changedAtTheEnd || now.chargedCredits < before.chargedCredits || now.updatedAt < before.updatedAt;
}

function textOf(task: JsonObject, field: string): string {
  const value = task[field];
  return typeof value === 'string' ? value : JSON.stringify(value ?? null);
}
