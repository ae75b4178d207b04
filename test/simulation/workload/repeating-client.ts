import type { JsonObject } from '../../../core/json.js';
import type { Credential, Line, Network } from '../harness/network.js';
import type { RunContext } from '../harness/run-context.js';
import type { Chance } from '../harness/scheduler.js';
import type { Service } from '../harness/service.js';
import type { Answer } from '../observed.js';
import { altered, isPassing, reordered } from './intents.js';
import { textField } from './operator.js';

/** Longer than the longest queue and run together. */
const PATIENT_MS = 15 * 60_000;
/** Longer than a lease that is not renewed is believed. */
const LONG_TASK_MS = 13_000;
const SHORT_TASK_MS = 500;
/** Creates of this content are answered at once, as those of videos. */
const FILM = 'a film';
const MAX_TRIES = 3;
/** The steps of a create, by the calls that make each: stores accept it in one call or in three. */
const STEPS_OF_A_CREATE = [
  ['fingerprints.renewLease'],
  ['fingerprints.replace'],
  ['claims.insert', 'acceptances.accept'],
  ['accounts.apply', 'acceptances.accept'],
  ['generations.insert', 'acceptances.accept'],
  ['generations.read'],
] as const;

/** Something that a client wants once over `/v1`, with the repetitions of its request. */
interface Wish {
  readonly credential: Credential;
  readonly body: JsonObject;
  readonly key?: string;
  /** Whether a repeated request says that it is one, as the SDKs of OpenAI do; the AI SDK does not. */
  readonly hasHeader: boolean;
  /** Known from the head of an answer that may not have come. */
  headId?: string;
  generationId?: string;
  isRefused?: true;
  isSent?: true;
}

/** Programs that use `/v1`: they repeat silently what they got no answer to, and some send equal requests honestly. */
export class RepeatingClient {
  private readonly wishes: Wish[] = [];
  private made = 0;
  private readonly acts: readonly (() => Promise<unknown>)[] = [
    () => this.fulfil(this.wish()),
    () => this.fulfil(this.wish()),
    () => this.fulfil(this.wish()),
    () => this.burst(),
    () => this.burst(),
    () => this.wishAgain(),
    () => this.fulfil(this.keyed()),
    () => this.raceUnderKey(),
    () => this.repeatOtherwise(),
    () => this.fulfilAndCancel(),
    () => this.delete(),
  ];

  constructor(
    private readonly name: string,
    private readonly credentials: readonly Credential[],
    private readonly run: RunContext,
    private readonly service: Service,
    private readonly network: Network,
    private readonly chance: Chance,
  ) {}

  async work(actions: number, thinkMs: number): Promise<void> {
    for (let done = 0; done < actions; done += 1) {
      await this.run.scheduler.pause(this.chance.between(0, thinkMs));
      await this.chance.pick(this.acts)();
    }
  }

  /** Repeats whatever has no answer, once nothing fails. */
  async makeSure(): Promise<void> {
    for (const wish of this.wishes) await this.insist(wish);
  }

  /** Plays what is exact once nothing fails. */
  async playExactly(): Promise<void> {
    const { provider } = this.service;
    const [credential] = this.credentials as [Credential];
    const { accountId } = credential;
    await this.network.ask({ operation: 'grant', accountId, operationId: `${this.name}-last`, credits: 100 });
    const last = (prompt: string): Wish => ({
      credential,
      body: bodyOf(prompt, 1),
      hasHeader: this.chance.happens(500),
    });
    provider.script = { ending: 'succeeds', takesMs: LONG_TASK_MS };
    await this.waitTogether(last('a pair'));
    provider.script = { ending: 'succeeds', takesMs: SHORT_TASK_MS };
    for (const prompt of ['a first crash', 'a second crash']) await this.repeatAfterCrash(last(prompt));
    await this.repeatCut(last('a cut one'));
    const unknown = last('an unknown model');
    await this.insist({ ...unknown, body: { ...unknown.body, model_key: 'unknown' } });
    provider.script = undefined;
  }

  /** Two equal requests wait at once, for longer than a lease lasts, at two processes where there are two. */
  private async waitTogether(wish: Wish): Promise<void> {
    const [used] = this.fronts;
    // A new process has no lease of earlier waits.
    if (used) this.service.kill(used);
    this.service.startAll();
    const { fronts } = this;
    const second = { ...wish };
    const first = this.insist(wish, fronts[0]);
    await this.run.scheduler.pause(this.chance.pick([100, LONG_TASK_MS / 2]));
    await Promise.all([first, this.insist(second, fronts.at(-1))]);
  }

  /** An answer is cut and repeated, at another process where there is one. Half the time the end of its wait is stored late. */
  private async repeatCut(wish: Wish): Promise<void> {
    const { fronts } = this;
    const [first] = fronts;
    const { faults } = this.service;
    if (this.chance.happens(500) && first)
      faults.plan('fingerprints.replace', { fault: 'lostRequest', forMs: 0, by: first.name, skip: 1 });
    await this.send(wish, { fate: 'cut', leavesAfterMs: PATIENT_MS, to: first });
    await this.insist(wish, fronts.at(-1));
    faults.forgetPlans();
  }

  /** The process dies at one of its calls, and another one gets the repeated request. */
  private async repeatAfterCrash(wish: Wish): Promise<void> {
    const [first] = this.fronts;
    const { faults } = this.service;
    const fault = this.chance.pick(['crashBefore', 'crashAfter'] as const);
    for (const call of this.chance.pick(STEPS_OF_A_CREATE))
      faults.plan(call, { fault, forMs: 0, ...(first ? { by: first.name } : {}) });
    await this.send(wish, { fate: 'cut', leavesAfterMs: 2 * SHORT_TASK_MS, to: first });
    faults.forgetPlans();
    this.service.startAll();
    await this.insist(wish, this.fronts.at(-1));
  }

  private get fronts() {
    return this.service.processes.filter(({ takesRequests }) => takesRequests);
  }

  private async insist(wish: Wish, to = this.service.door()): Promise<void> {
    while (wish.generationId === undefined && wish.isRefused !== true) {
      await this.send(wish, { fate: 'whole', leavesAfterMs: PATIENT_MS, to });
      await this.run.scheduler.pause(2_000);
    }
  }

  /** There are few contents, so that equal requests meet. */
  private wish(): Wish {
    const { chance } = this;
    const content = chance.pick(['the sea', 'the sea', 'the sea', 'hills', FILM, 'too much'] as const);
    const count = content === 'too much' ? 4 : 1;
    const wish: Wish = {
      credential: chance.pick(this.credentials),
      body: bodyOf(content, count),
      hasHeader: chance.happens(500),
    };
    this.wishes.push(wish);
    return wish;
  }

  private keyed(): Wish {
    this.made += 1;
    const wish: Wish = { ...this.wish(), key: `${this.name}-${this.made}` };
    this.wishes[this.wishes.length - 1] = wish;
    return wish;
  }

  /** Repeats the request as SDKs do, or gives up. */
  private async fulfil(wish: Wish): Promise<void> {
    const { chance, run } = this;
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      await this.send(wish, {
        fate: chance.pick(['whole', 'whole', 'whole', 'whole', 'cut', 'cut', 'held']),
        leavesAfterMs: chance.pick([1, 300, 3_000, 12_000, 60_000, 60_000, 60_000]),
      });
      if (wish.generationId !== undefined || wish.isRefused === true || chance.happens(200)) return;
      await run.scheduler.pause(chance.pick([0, 500, 2_000, 8_000]));
    }
  }

  private async send(wish: Wish, line: Line): Promise<void> {
    const { credential, body, key } = wish;
    const isRetry = wish.hasHeader && wish.isSent === true;
    wish.isSent = true;
    const isVideo = body['prompt'] === FILM;
    const request = {
      operation: 'create-compatible',
      isRetry,
      isVideo,
      body,
      ...(key === undefined ? {} : { key }),
    } as const;
    const onHead = (id: string): void => void (wish.headId = id);
    const answer: Answer = await this.network.askCompatible(request, credential, { ...line, onHead });
    if (answer.outcome === 'success') wish.generationId = textField(answer.data, 'generation_id');
    if (answer.outcome === 'refused' && !isPassing(answer.code)) wish.isRefused = true;
  }

  private async burst(): Promise<void> {
    const wish = this.wish();
    const others = Array.from({ length: this.chance.between(1, 2) }, () => ({ ...wish }));
    this.wishes.push(...others);
    await Promise.all([wish, ...others].map((one) => this.fulfil(one)));
  }

  /** Another honest request for what was asked for before. */
  private async wishAgain(): Promise<void> {
    const { credential, body, hasHeader } = this.aWish() ?? this.wish();
    const again: Wish = { credential, body, hasHeader };
    this.wishes.push(again);
    await this.fulfil(again);
  }

  private async raceUnderKey(): Promise<void> {
    const wish = this.keyed();
    await Promise.all([this.fulfil(wish), this.fulfil({ ...wish, body: reordered(wish.body) })]);
  }

  private async repeatOtherwise(): Promise<void> {
    const wish = this.keyed();
    await Promise.all([this.fulfil(wish), this.fulfil({ ...wish, body: altered(this.chance, wish.body) })]);
  }

  /** Somebody else cancels the generation, and may delete it, before or after an answer. */
  private async fulfilAndCancel(): Promise<void> {
    const wish = this.wish();
    const fulfilled = this.fulfil(wish);
    await this.run.scheduler.pause(this.chance.skewed(6_000));
    await this.end(wish, 'cancel');
    if (this.chance.happens(500)) await this.end(wish, 'delete');
    await fulfilled;
  }

  private async delete(): Promise<void> {
    const wish = this.aWish();
    if (wish) await this.end(wish, 'delete');
  }

  private async end({ headId, credential }: Wish, operation: 'cancel' | 'delete'): Promise<void> {
    if (headId !== undefined) await this.network.ask({ operation, generationId: headId }, credential);
  }

  private aWish(): Wish | undefined {
    return this.wishes.length > 0 ? this.chance.pick(this.wishes) : undefined;
  }
}

function bodyOf(prompt: string, count: number): JsonObject {
  return { model_key: 'plain', operation: 'image_generation', prompt, parameters: { count } };
}
