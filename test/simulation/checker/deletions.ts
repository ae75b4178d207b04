import type { Generation } from '../../../core/generation/generation.js';
import type { Answer, Asked } from '../observed.js';
import type { Handlers } from './calls.js';
import { demand } from './demand.js';
import type { GenerationListener, Generations, Step } from './generations.js';
import type { GuardedObjects } from './guarded-objects.js';

/**
 * Invariant 26: a client's deletion takes all of the content, only of what has ended and is settled, and only where the
 * client asked for it.
 */
export class Deletions implements GenerationListener {
  /** Ids that clients asked to have deleted. */
  private readonly wanted = new Set<string>();

  constructor(
    private readonly generations: Pick<Generations, 'lives' | 'record'>,
    private readonly objects: Pick<GuardedObjects, 'isThere'>,
  ) {}

  readonly handlers: Handlers = {
    'generations.replace': async ({ args: [next], result }) => {
      const deleted = result === 'applied' && next.kind === 'expired' ? this.deletedLife(next.generationId) : undefined;
      if (deleted) await this.requireNoOutputs(deleted, 'its record');
    },
  };

  noteAsked({ request }: Asked): void {
    if (request.operation === 'delete') this.wanted.add(request.generationId.toLowerCase());
  }

  isDeleted(generationId: string): boolean {
    return this.deletedLife(generationId) !== undefined;
  }

  stepped({ before, next, event }: Pick<Step, 'before' | 'next' | 'event'>): void {
    if (event !== 'delete') return;
    const { generationId } = next;
    demand(this.wanted.has(generationId), 26, () => `generation ${generationId} was deleted, and nobody asked for it`);
    demand(
      before.settledAt !== undefined,
      26,
      () => `generation ${generationId} was deleted as ${before.status}, before it was settled`,
    );
    const { prompt, negativePrompt, parameters, references } = next;
    const isEmpty =
      prompt === '' && negativePrompt === undefined && Object.keys(parameters).length === 0 && references.length === 0;
    demand(isEmpty, 26, () => `generation ${generationId} was deleted, and still has what was asked for`);
  }

  /** With the answer everything is gone. */
  async served({ request, number }: Asked, answer: Answer): Promise<void> {
    if (request.operation !== 'delete' || answer.outcome !== 'success') return;
    const id = request.generationId.toLowerCase();
    const record = this.generations.record(id);
    demand(
      record?.kind !== 'generation' || isCounted(record),
      26,
      () => `request ${number} was told that generation ${id} is deleted, and its record stands`,
    );
    const life = this.generations.lives.get(id);
    if (life) await this.requireNoOutputs(life.newest, `the answer to request ${number}`);
  }

  /** At rest no deletion is left halfway. */
  async checkAtRest(): Promise<void> {
    for (const id of this.generations.lives.keys()) {
      const deleted = this.deletedLife(id);
      if (deleted === undefined) continue;
      const isHalfDone = this.generations.record(id)?.kind === 'generation' && !isCounted(deleted);
      demand(!isHalfDone, 26, () => `at rest generation ${id} is marked as deleted, and its record stands`);
      await this.requireNoOutputs(deleted, 'the run');
    }
  }

  private deletedLife(generationId: string): Generation | undefined {
    const newest = this.generations.lives.get(generationId)?.newest;
    return newest?.deletedAt === undefined ? undefined : newest;
  }

  private async requireNoOutputs({ generationId, outputs }: Generation, what: string): Promise<void> {
    for (const { objectKey } of outputs) {
      const isThere = await this.objects.isThere(objectKey);
      demand(!isThere, 26, () => `generation ${generationId} was deleted, and ${objectKey} outlived ${what}`);
    }
  }
}

/** What was not charged counts for its account a while, though it is deleted: else there would be no bound to it. */
function isCounted({ deletedAt, chargedCredits, unchargedBytes }: Generation): boolean {
  return deletedAt !== undefined && chargedCredits === 0 && unchargedBytes === 2_048;
}
