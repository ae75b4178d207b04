import type { JsonObject } from '../../core/json.js';
import { brokenBy, type Shown, shownTask, taskFault } from '../history/task.js';
import { textOf } from '../history/values.js';

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
  private readonly seen = new Map<string, Shown>();

  get accepted(): SentCreate[] {
    return this.creates.filter(({ generationId }) => generationId !== undefined);
  }

  get unknown(): SentCreate[] {
    return this.creates.filter(({ generationId }) => generationId === undefined);
  }

  noteAccepted(create: SentCreate, task: JsonObject): void {
    const id = textOf(task['generation_id']);
    if (create.generationId !== undefined && create.generationId !== id)
      this.contradictions.push(`key ${create.key} named ${create.generationId}, then ${id}`);
    create.generationId = id;
    this.noteTask(task);
  }

  /** A task as an answer showed it. `sentAt` orders nothing: call this in the order in which the requests were sent. */
  noteTask(task: JsonObject): void {
    const id = textOf(task['generation_id']);
    const [before, now] = [this.seen.get(id), shownTask(task)];
    if (before && brokenBy(before, now) !== undefined)
      this.contradictions.push(`${id} went from ${JSON.stringify(before)} to ${JSON.stringify(now)}`);
    this.seen.set(id, now);
    const fault = taskFault(task);
    if (fault !== undefined) this.contradictions.push(`${id}: ${fault}`);
  }
}
