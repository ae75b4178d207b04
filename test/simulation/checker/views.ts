import type { JsonObject } from '../../../core/json.js';
import { checkBalance } from '../../history/credits.js';
import { checkDenial, checkSubject } from '../../history/ownership.js';
import { brokenBy, checkShown, type Shown, shownRecord, shownTask } from '../../history/task-order.js';
import { taskFault } from '../../history/task-shape.js';
import { textOf } from '../../history/values.js';
import type { Answer, Asked } from '../observed.js';
import type { Books } from './books.js';
import { demand, demandNone } from './demand.js';
import type { EventOrder } from './event-order.js';
import { type Generations, shownAs } from './generations.js';
import type { Prices } from './prices.js';

/** What clients knew of a generation from some moment on. `gone` outranks every status. */
interface Seen extends Shown {
  readonly position: number;
  readonly status: string;
}

const GONE_RANK = 3;

/** Invariants 8, 9 and 15: what clients are shown, and that it never goes back. */
export class Views {
  /** What became known, each better than the one before, by generation. */
  private readonly seen = new Map<string, Seen[]>();

  constructor(
    private readonly generations: Generations,
    private readonly books: Books,
    private readonly prices: Prices,
    private readonly order: EventOrder,
  ) {}

  /** Looks at an answer as it leaves, and so also at those that never arrive. */
  served(asked: Asked, answer: Answer): void {
    const { request, party } = asked;
    if (answer.outcome === 'refused') this.refused(asked, answer.code);
    if (answer.outcome !== 'success' || !party) return;
    const { data } = answer;
    if (isAboutTask(asked)) this.task(asked, data);
    if (request.operation === 'credits') this.balance(asked, party.accountId, data);
    if (request.operation === 'estimate') this.estimate(asked, data);
  }

  /** From here on no client may be shown less. */
  answered(asked: Asked, answer: Answer): void {
    const { request } = asked;
    const { position } = this.order;
    if (answer.outcome === 'success' && isAboutTask(asked)) {
      this.learn(textOf(answer.data['generation_id']), { position, ...viewOf(answer.data) });
    }
    const isGone =
      (answer.outcome === 'refused' && answer.code === 'GENERATION_JOB_NOT_FOUND' && request.operation === 'get') ||
      (answer.outcome === 'success' && request.operation === 'delete');
    if (isGone) {
      this.learn(request.generationId.toLowerCase(), {
        position,
        status: 'gone',
        rank: GONE_RANK,
        charged: 0,
        updatedAt: 0,
        end: 'gone',
      });
    }
  }

  private task(asked: Asked, data: JsonObject): void {
    const id = textOf(data['generation_id']);
    const fault = taskFault(data);
    demand(
      fault === undefined,
      9,
      () => `request ${asked.number} was answered with generation ${id}, ${textOf(data['status'])}, whose ${fault}`,
    );
    const { request, party } = asked;
    const wanted =
      request.operation === 'get' || request.operation === 'cancel' ? request.generationId.toLowerCase() : id;
    demandNone(checkSubject(`request ${asked.number}`, wanted, id));
    const life = this.generations.lives.get(id);
    demand(life !== undefined, 12, () => `request ${asked.number} was answered with generation ${id}, which never was`);
    demand(
      life.accountId === party?.accountId && life.appId === party.appId,
      17,
      () => `request ${asked.number} of App ${party?.appId} was answered with generation ${id} of ${life.appId}`,
    );
    const view = viewOf(data);
    const wasSo = life.shown.has(
      shownAs({ status: view.status, chargedCredits: view.charged, updatedAt: view.updatedAt }),
    );
    demand(
      wasSo,
      8,
      () =>
        `request ${asked.number} was shown generation ${id} as ${view.status}, charged ${view.charged}, updated at ${view.updatedAt}; it never was`,
    );
    demandNone(checkShown(`request ${asked.number}`, view, shownRecord(life.newest)));
    this.requireNoStepBack(asked, id, view);
  }

  private requireNoStepBack(asked: Asked, id: string, view: Omit<Seen, 'position'>): void {
    const before = this.seen.get(id)?.findLast(({ position }) => position < this.order.askedOrder(asked));
    if (!before) return;
    const invariant = brokenBy(before, view);
    demand(
      invariant === undefined,
      invariant ?? 8,
      () =>
        `request ${asked.number} was shown generation ${id} as ${view.status}, charged ${view.charged}, updated at ${view.updatedAt}; a client knew it before as ${before.status}, ${before.charged}, ${before.updatedAt}`,
    );
  }

  /** Knowledge only grows: what is older than what is known already adds nothing. */
  private learn(id: string, view: Seen): void {
    const known = this.seen.get(id) ?? [];
    const last = known.at(-1);
    if (last && (view.rank < last.rank || view.updatedAt < last.updatedAt) && view.rank !== GONE_RANK) return;
    if (last?.rank === view.rank && last.updatedAt === view.updatedAt && last.charged >= view.charged) return;
    known.push(view);
    this.seen.set(id, known);
  }

  /** An own generation that stands is not denied. */
  private refused(asked: Asked, code: string): void {
    const { request, party } = asked;
    if (request.operation !== 'get' && request.operation !== 'cancel' && request.operation !== 'delete') return;
    if (code !== 'TASK_NOT_FOUND' && code !== 'GENERATION_JOB_NOT_FOUND') return;
    const id = request.generationId.toLowerCase();
    const record = this.generations.record(id);
    const isOwn =
      record?.kind === 'generation' &&
      record.deletedAt === undefined &&
      record.accountId === party?.accountId &&
      record.appId === party.appId;
    // Inserted while the request was under way, it may have been looked for before.
    const stoodBefore = (this.generations.lives.get(id)?.insertedAt ?? Infinity) < this.order.arrivedAt(asked);
    demandNone(checkDenial(`request ${asked.number}`, code, id, isOwn && stoodBefore));
  }

  private balance(asked: Asked, accountId: string, data: JsonObject): void {
    const available = this.books.availableOf(accountId)?.valuesSince(this.order.arrivedOrder(asked)) ?? [];
    demandNone(checkBalance({ told: `request ${asked.number}`, accountId, available }, data));
  }

  private estimate({ number, request }: Asked, data: JsonObject): void {
    if (request.operation !== 'estimate') return;
    const price = this.prices.ofBody(request.body);
    demand(
      data['estimated_credits'] === price,
      3,
      () => `request ${number} was estimated at ${textOf(data['estimated_credits'])}, and its price is ${price}`,
    );
  }
}

function isAboutTask({ request: { operation } }: Asked): boolean {
  return operation === 'create' || operation === 'get' || operation === 'cancel';
}

/** Outputs go with their retention. */
function viewOf(data: JsonObject): Omit<Seen, 'position'> {
  const { delivered: _, ...shown } = shownTask(data);
  return { ...shown, status: textOf(data['status']) };
}
