import { expect } from 'chai';
import { type Caller, SCOPES } from '../../core/access/credential.js';
import { createAccount, createApp } from '../../core/access/manage.js';
import type { Context } from '../../core/context.js';
import { adjustCredits, grantCredits } from '../../core/credits/operate.js';
import { verifyCredits } from '../../core/credits/verify.js';
import { type Created, createGeneration } from '../../core/generation/create-generation.js';
import { cancelGeneration } from '../../core/generation/end-generation.js';
import { type Generation, isTerminal } from '../../core/generation/generation.js';
import { getGeneration } from '../../core/generation/read-generations.js';
import { Dispatcher } from '../../core/generation/run/dispatcher.js';
import type { JsonObject } from '../../core/json.js';
import { Recovery } from '../../core/recovery/recover.js';
import type { Interceptor } from '../fixtures/intercepted.js';
import { BooksModel, expectBooksRight } from '../fixtures/ledgers.js';
import { imagesOf } from '../fixtures/scripted-provider.js';
import { ATTRIBUTION } from '../fixtures/stored-records.js';
import { cutting } from '../harness/core-harness.js';
import {
  answerOrCode,
  chargeOf,
  priceOf,
  refusalOf,
  reportOf,
  type Step,
  type Style,
  Trail,
  type Wanted,
} from './steps.js';
import type { StoreHarness } from './store-harness.js';
import { tryUpload } from './try-upload.js';

const GIVEN = 130;
const PAST_EVERY_LEASE_MS = 120_000;

interface Known {
  readonly id: string;
  readonly wanted: Wanted;
  settled: boolean;
}
interface Party {
  readonly caller: Caller;
  readonly books: BooksModel;
  readonly keys: Map<string, Known>;
  readonly generations: Known[];
}

/**
 * Executes steps through the use cases, predicts each answer from its own model, and checks everything after each step.
 */
export class Actor {
  private readonly parties: Party[] = [];
  private readonly trail = new Trail();
  private readonly neverSubmitted = new Set<string>();
  private made = 0;

  private constructor(private readonly harness: StoreHarness) {
    harness.provider.newReport = ({ parameters }) =>
      reportOf(parameters['style'] as Style, parameters['count'] as number);
  }

  static async enter(harness: StoreHarness): Promise<Actor> {
    const actor = new Actor(harness);
    for (const name of ['one', 'other']) {
      const { accountId } = await createAccount(harness.context, { name });
      const { appId } = await createApp(harness.context, { accountId, name });
      const party = {
        caller: { accountId, appId, credentialId: name, scopes: SCOPES },
        books: new BooksModel(),
        keys: new Map<string, Known>(),
        generations: [],
      };
      actor.parties.push(party);
      await actor.issue(party, 'grant', GIVEN);
    }
    return actor;
  }

  async take(step: Step): Promise<void> {
    const party = this.parties['who' in step ? step.who : 0] as Party;
    switch (step.do) {
      case 'create':
        await this.create(party, `k${step.key}`, step.wanted);
        break;
      case 'twins':
        await this.twins(party, `k${step.key}`, step.wanted);
        break;
      case 'burst':
        await this.burst(party, step.many, step.wanted);
        break;
      case 'cut-create':
        await this.cutCreate(party, `k${step.key}`, step.wanted, dying(step.call, step.after));
        break;
      case 'cancel':
        await this.cancel(party, step.pick);
        break;
      case 'cancel-running':
        await this.cancelRunning(party, step.pick);
        break;
      case 'look':
        await this.look(party, step.pick);
        break;
      case 'grant':
      case 'adjust':
        await this.issue(party, step.do, step.credits);
        break;
      case 'work':
        await this.work(dying(step.cutAt, step.after));
        break;
      case 'upload':
        await tryUpload(this.harness, party.caller, this.otherThan(party).caller, this.newKey(), step.honest);
        break;
    }
    await this.check();
  }

  /** Lets everything end and checks the final state against the model. */
  async end(): Promise<void> {
    await this.work();
    await this.check();
    for (const { caller } of this.parties)
      expect((await this.harness.context.accounts.read(caller.accountId))?.holds.size, 'open holds at rest').to.equal(
        0,
      );
    expect((await verifyCredits(this.harness.context)).findings).to.deep.equal([]);
    const submitted = new Set(this.harness.provider.submissions.map(({ generationId }) => generationId));
    for (const id of this.neverSubmitted)
      expect(submitted.has(id), 'cancelled while queued, and submitted').to.equal(false);
  }

  private ask(
    party: Party,
    key: string,
    wanted: Wanted,
    context: Context = this.harness.context,
  ): Promise<Created | string> {
    const body = {
      model_key: 'plain-image',
      operation: 'image_generation',
      prompt: 'a house',
      parameters: { ...wanted } as unknown as JsonObject,
    };
    return this.harness.clock.run(answerOrCode(createGeneration(context, party.caller, key, body)));
  }

  private async create(party: Party, key: string, wanted: Wanted): Promise<void> {
    const before = await this.harness.context.accounts.read(party.caller.accountId);
    const answer = await this.ask(party, key, wanted);
    const known = party.keys.get(key);
    if (known) {
      const isSame = known.wanted.count === wanted.count && known.wanted.style === wanted.style;
      if (isSame) expect(answer).to.nested.include({ 'replayed': true, 'generation.generationId': known.id });
      else expect(answer).to.equal('IDEMPOTENCY_PAYLOAD_MISMATCH');
    } else if (BigInt(priceOf(wanted)) > party.books.available) expect(answer).to.equal('CREDITS_INSUFFICIENT');
    else return this.accept(party, key, wanted, answer);
    expect(await this.harness.context.accounts.read(party.caller.accountId), 'nothing is written').to.deep.equal(
      before,
    );
  }

  private accept(party: Party, key: string | undefined, wanted: Wanted, answer: Created | string): void {
    if (typeof answer === 'string') throw new Error(`A create that could be paid for answered ${answer}.`);
    const id = answer.generation.generationId;
    expect(answer.replayed).to.equal(false);
    expect(
      party.books.apply({
        kind: 'hold',
        generationId: id,
        credits: priceOf(wanted),
        maxOpenHolds: 1_000,
        attribution: ATTRIBUTION,
      }),
    ).to.equal(undefined);
    this.remember(party, key, { id, wanted, settled: false });
  }

  private remember(party: Party, key: string | undefined, known: Known): void {
    party.generations.push(known);
    if (key !== undefined) party.keys.set(key, known);
  }

  /** Sends the same request concurrently: one takes effect, the others get its replay or are asked to wait. */
  private async twins(party: Party, key: string, wanted: Wanted): Promise<void> {
    if (party.keys.has(key) || BigInt(priceOf(wanted)) > party.books.available) return this.create(party, key, wanted);
    const processes = [this.harness.context, this.harness.process(), this.harness.context];
    const answers = await this.harness.clock.run(
      Promise.all(processes.map((context) => this.ask(party, key, wanted, context))),
    );
    const first = answers.filter((answer) => typeof answer !== 'string' && !answer.replayed);
    expect(first, 'one of the twins').to.have.length(1);
    this.accept(party, key, wanted, first[0] as Created);
    const id = party.keys.get(key)?.id;
    for (const answer of answers) {
      if (typeof answer === 'string') expect(answer).to.equal('IDEMPOTENCY_IN_PROGRESS');
      else expect(answer.generation.generationId).to.equal(id);
    }
  }

  /** Exactly as many are accepted as the balance pays for. */
  private async burst(party: Party, many: number, wanted: Wanted): Promise<void> {
    const affordable = Math.min(many, Math.floor(Number(party.books.available) / priceOf(wanted)));
    const answers = await this.harness.clock.run(
      Promise.all(Array.from({ length: many }, () => this.ask(party, this.newKey(), wanted))),
    );
    const accepted = answers.filter((answer) => typeof answer !== 'string');
    expect(accepted, `${many} at ${priceOf(wanted)} with ${party.books.available}`).to.have.length(affordable);
    for (const answer of accepted) this.accept(party, undefined, wanted, answer);
    for (const answer of answers) if (typeof answer === 'string') expect(answer).to.equal('CREDITS_INSUFFICIENT');
  }

  /** The process dies within the create; recovery leaves all of it or nothing, and a retry of the key shows which. */
  private async cutCreate(party: Party, key: string, wanted: Wanted, cut: Interceptor): Promise<void> {
    if (party.keys.has(key) || BigInt(priceOf(wanted)) > party.books.available) return this.create(party, key, wanted);
    const before = new Set(party.generations.map(({ id }) => id));
    await this.ask(party, key, wanted, this.harness.process(cut)).catch(() => undefined);
    await this.recover();
    const made = (await this.generationsOf(party)).filter(({ generationId }) => !before.has(generationId));
    expect(made.length, 'one or none').to.be.at.most(1);
    const [generation] = made;
    if (!generation) return this.create(party, key, wanted);
    this.accept(party, key, wanted, { generation, replayed: false });
    return this.create(party, key, wanted);
  }

  private async recover(): Promise<void> {
    const recovery = new Recovery(this.harness.context);
    await this.harness.clock.advance(PAST_EVERY_LEASE_MS);
    for (let passes = 0; passes < 2; passes += 1) await this.harness.clock.run(recovery.pass());
  }

  private async cancel(party: Party, pick: number): Promise<void> {
    const known = party.generations[pick % Math.max(1, party.generations.length)];
    if (!known) return;
    const before = await this.read(known.id);
    const after = await this.harness.clock.run(cancelGeneration(this.harness.context, party.caller, known.id));
    if (before.status !== 'queued') {
      expect(after.status).to.equal(before.status);
      return;
    }
    expect([after.status, after.chargedCredits]).to.deep.equal(['cancelled', 0]);
    if (!this.harness.provider.submissions.some(({ generationId }) => generationId === known.id))
      this.neverSubmitted.add(known.id);
    this.settle(party, known, 0);
  }

  /** Cancels a running generation; a success that its provider reports later changes nothing. */
  private async cancelRunning(party: Party, pick: number): Promise<void> {
    const open = party.generations.filter(({ settled, wanted }) => !settled && wanted.style === 'never');
    const known = open[pick % Math.max(1, open.length)];
    if (!known) return;
    await this.working(async (context) => {
      const taskOf = () =>
        [...this.harness.provider.tasks.values()].find(({ submission }) => submission.generationId === known.id);
      await this.harness.clock.until(
        async () => taskOf() !== undefined && (await this.read(known.id)).status !== 'queued',
        'it runs',
      );
      await this.harness.clock.run(cancelGeneration(context, party.caller, known.id));
      await this.harness.clock.until(
        async () => (await this.read(known.id)).settledAt !== undefined,
        'it is cancelled and settled',
      );
      const ended = await this.read(known.id);
      expect([ended.status, ended.chargedCredits]).to.deep.equal(['cancelled', 0]);
      const task = taskOf();
      if (task) task.report = { state: 'succeeded', outputs: imagesOf(known.wanted.count) };
      await context.wakeUps.schedule({ kind: 'generation', id: known.id }, this.harness.clock.now());
      await this.harness.clock.advance(5_000);
    });
    await this.settleEnded();
  }

  private async look(party: Party, pick: number): Promise<void> {
    const { generations } = this.otherThan(party);
    const foreign = generations[pick % Math.max(1, generations.length)];
    const ids = [foreign?.id ?? this.harness.ids.uuid(), '0198c0de-0000-7000-8000-000000000000'];
    for (const act of [getGeneration, cancelGeneration]) {
      const answers = await Promise.all(
        ids.map((id) => this.harness.clock.run(refusalOf(act(this.harness.context, party.caller, id)))),
      );
      expect(answers[0], 'a foreign id and a random one').to.deep.equal(answers[1]);
      expect(answers[0]).to.include({ code: 'TASK_NOT_FOUND' });
    }
  }

  private async issue(
    { caller: { accountId }, books }: Party,
    kind: 'grant' | 'adjust',
    credits: number,
  ): Promise<void> {
    const operation = { accountId, operationId: this.newKey(), credits, reason: 'for the test' };
    const refused = books.apply({ kind, ...operation });
    for (let times = 0; times < 2; times += 1) {
      const answer = await this.harness.clock.run(
        answerOrCode((kind === 'grant' ? grantCredits : adjustCredits)(this.harness.context, operation)),
      );
      if (refused === undefined) expect(answer).to.be.an('object');
      else expect(answer).to.equal(refused);
    }
  }

  /** If `cut` is given, a worker that dies, then one that does not, until nothing is left to do. */
  private async work(cut?: Interceptor): Promise<void> {
    if (cut) await this.working(() => this.harness.clock.advance(2_000), cut);
    await this.working(async (context) => {
      const recovery = new Recovery(context);
      const isRest = async () =>
        (await Promise.all(this.parties.map((party) => this.generationsOf(party))))
          .flat()
          .every(({ settledAt }) => settledAt !== undefined);
      for (let passes = 0; passes < 60 && !(await isRest()); passes += 1) {
        await this.harness.clock.run(recovery.pass());
        await this.harness.clock.advance(15_000);
      }
      expect(await isRest(), 'everything ends within its deadline').to.equal(true);
    });
    await this.settleEnded();
  }

  private async working(during: (context: Context) => Promise<void>, cut?: Interceptor): Promise<void> {
    const context = this.harness.process(cut);
    const dispatcher = new Dispatcher(context, `worker-${this.newKey()}`);
    await context.wakeUps.start(({ id }) => dispatcher.deliver(id), 1_000);
    await during(context);
    await this.harness.clock.run(Promise.all([context.wakeUps.stop(), dispatcher.stop(1_000)]));
  }

  /** An ended generation must have been charged for the outputs of its style, unless it was cancelled. */
  private async settleEnded(): Promise<void> {
    for (const party of this.parties) {
      for (const known of party.generations.filter(({ settled }) => !settled)) {
        const g = await this.read(known.id);
        if (!isTerminal(g.status) || g.settledAt === undefined) continue;
        const charge = g.status === 'cancelled' ? 0 : chargeOf(known.wanted);
        expect(g.chargedCredits, `${g.status}, ${known.wanted.style}`).to.equal(charge);
        this.settle(party, known, charge);
      }
    }
  }

  private settle(party: Party, known: Known, charge: number): void {
    known.settled = true;
    party.books.apply({ kind: 'settle', generationId: known.id, charge });
  }

  private async check(): Promise<void> {
    for (const party of this.parties) {
      const account = await this.harness.context.accounts.read(party.caller.accountId);
      if (!account) throw new Error('An account is gone.');
      expectBooksRight(
        account,
        (await this.harness.context.accounts.entries(account.accountId, { limit: 1_000 })).items,
      );
      const { available, reserved, spent } = party.books;
      expect([account.available, account.reserved, account.spent].map(BigInt), 'books').to.deep.equal([
        available,
        reserved,
        spent,
      ]);
      expect([...account.holds.keys()].sort()).to.deep.equal([...party.books.holds.keys()].sort());
      const all = await this.generationsOf(party);
      expect(all.map(({ generationId }) => generationId).sort()).to.deep.equal(
        party.generations.map(({ id }) => id).sort(),
      );
      for (const g of all) this.trail.note(g);
    }
  }

  private async read(id: string): Promise<Generation> {
    const record = await this.harness.context.generations.read(id);
    if (record?.kind !== 'generation') throw new Error(`There is no generation ${id}.`);
    return record;
  }

  private async generationsOf({ caller }: Party): Promise<readonly Generation[]> {
    return (
      await this.harness.context.generations.list({ of: 'account', accountId: caller.accountId }, { limit: 1_000 })
    ).items;
  }

  private otherThan(party: Party): Party {
    return this.parties.find((one) => one !== party) as Party;
  }

  private newKey(): string {
    this.made += 1;
    return `made-${this.made}`;
  }
}

/**
 * A process that makes `calls` calls on its stores and dies in the next: before the call takes effect, or with `after`,
 * after it did.
 */
function dying(calls: number, after: boolean): Interceptor {
  return cutting(calls, after ? 'after' : 'before', { dies: true });
}
