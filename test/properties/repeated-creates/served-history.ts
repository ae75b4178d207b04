import { expect } from 'chai';
import type { Caller } from '../../../core/access/credential.js';
import type { Boot } from '../../../core/boot.js';
import type { Context } from '../../../core/context.js';
import { verifyCredits } from '../../../core/credits/verify.js';
import { ServiceError, StoreUnavailable } from '../../../core/errors.js';
import { createMatched, type Matched, type MatchedRequest } from '../../../core/generation/create-matched.js';
import { deleteGeneration } from '../../../core/generation/end-generation.js';
import { type Generation, isTerminal } from '../../../core/generation/generation.js';
import { Recovery } from '../../../core/recovery/recover.js';
import type { Submission } from '../../../core/ports/provider.js';
import { pause } from '../../../core/waiting.js';
import { withWallTime } from '../../fixtures/clocks.js';
import type { Interceptor, PortCall } from '../../fixtures/intercepted.js';
import { recoverAll } from '../../fixtures/recovery-passes.js';
import { CoreHarness, CoreWorker } from '../../harness/core-harness.js';
import { reportOf } from '../steps.js';
import type { Fate, History, StoreFault, Wish } from './history.js';
import { RepetitionChecker, type SentRequest } from './repetition-checker.js';

const RECOVERY_MS = 10_000;
const LOOK_MS = 250;
const RESTART_MS = 1_000;
const NEVER = new Promise<never>(() => undefined);
const REFUSALS: Readonly<Record<string, string>> = { 'unknown-model': 'FIELD_INVALID', 'poor': 'CREDITS_INSUFFICIENT' };

/** A process that serves requests, from its start to its death. */
export class ServingProcess {
  diedAt: number | undefined;
  readonly context: Context;
  readonly boot: Boot;
  private calls = 0;
  private readonly faults: ReadonlyMap<number, StoreFault>;

  constructor(
    private readonly harness: CoreHarness,
    faults: readonly StoreFault[],
    { isExclusive, aheadMs }: { readonly isExclusive: boolean; readonly aheadMs: number },
  ) {
    const { clock, ports } = harness;
    this.faults = new Map(faults.map((fault) => [fault.call, fault]));
    this.boot = { id: ports.ids.uuid(), isExclusive };
    this.context = harness.process(
      this.intercept,
      { clock: withWallTime(clock, () => clock.now() + aheadMs) },
      this.boot,
    );
  }

  get isDead(): boolean {
    return this.diedAt !== undefined;
  }

  /** How many calls it has made on the stores. */
  get callCount(): number {
    return this.calls;
  }

  private readonly intercept: Interceptor = async (call) => {
    if (this.isDead) return NEVER;
    const fault = this.faults.get(this.calls);
    this.calls += 1;
    const answer = await (fault === undefined ? call.proceed() : this.disturbed(call, fault));
    return this.isDead ? NEVER : answer;
  };

  private async disturbed(call: PortCall, { kind, delayMs }: StoreFault): Promise<unknown> {
    const { clock } = this.harness;
    switch (kind) {
      case 'dies-before':
        this.diedAt = clock.now();
        return NEVER;
      case 'dies-after':
        await call.proceed();
        this.diedAt = clock.now();
        return NEVER;
      case 'lost-request':
        throw new StoreUnavailable('The request was lost.');
      case 'lost-answer':
        await call.proceed();
        throw new StoreUnavailable('The answer was lost.');
      case 'late':
        // Only of these records: the simulation does it to the others.
        if (call.name !== 'fingerprints.replace') return call.proceed();
        clock.after(delayMs, () => void call.proceed());
        throw new StoreUnavailable('The store does not answer.');
      case 'slow':
        await pause(clock, delayMs);
        return call.proceed();
      case 'slow-answer': {
        const answer = await call.proceed();
        await pause(clock, delayMs);
        return answer;
      }
    }
  }
}

/** How a process serves a request. */
interface Serving {
  readonly caller: Caller;
  readonly fate: Fate;
  /** Whether the client has closed the connection. */
  readonly isGone: { readonly value: boolean };
  readonly server: ServingProcess;
}

export interface PlayedHistory {
  readonly checker: RepetitionChecker;
  /** How many calls the first process has made on the stores. */
  readonly callsOfFirst: number;
}

/** Plays one history, and checks each answer and, at the end, every count. Throws what it finds. */
export async function playHistory(history: History): Promise<PlayedHistory> {
  const served = await ServedHistory.open(history);
  await served.play();
  return served;
}

class ServedHistory implements PlayedHistory {
  readonly checker: RepetitionChecker;
  private readonly processes: ServingProcess[] = [];
  private first: ServingProcess | undefined;
  private tasks = 0;
  private failure: unknown;

  private constructor(
    private readonly history: History,
    private readonly harness: CoreHarness,
    private readonly poor: Caller,
  ) {
    this.checker = new RepetitionChecker(harness);
    const { provider, clock } = harness;
    provider.newReport = ({ token, prompt }: Submission) => {
      const report = reportOf(prompt === 'failing' ? 'fails' : 'good', 1);
      const taskMs = history.taskMs[this.tasks % history.taskMs.length] ?? 0;
      this.tasks += 1;
      const end = (): void => {
        for (const task of provider.tasks.values()) if (task.submission.token === token) task.report = report;
      };
      if (taskMs === 0) return report;
      clock.after(taskMs, end);
      return { state: 'running' };
    };
  }

  static async open(history: History): Promise<ServedHistory> {
    const harness = await CoreHarness.open();
    const served = new ServedHistory(history, harness, await harness.newCaller(0));
    await CoreWorker.start(harness);
    return served;
  }

  get callsOfFirst(): number {
    return this.first?.callCount ?? 0;
  }

  async play(): Promise<void> {
    const { clock } = this.harness;
    const { wishes, deletesAt } = this.history;
    let left = wishes.length + deletesAt.length;
    const over = (): void => void (left -= 1);
    const failed = (error: unknown): void => void (this.failure ??= error);
    for (const wish of wishes) clock.after(wish.at, () => void this.fulfil(wish).catch(failed).finally(over));
    for (const at of deletesAt) clock.after(at, () => void this.deleteLast().catch(failed).finally(over));
    void this.recoverWhile(() => left > 0 && this.failure === undefined).catch(failed);
    await clock.until(() => left === 0 || this.failure !== undefined, 'every client has its answer', 3_600_000);
    if (this.failure !== undefined) throw this.failure as Error;
    await this.expectBalanced();
  }

  /** Recovery wakes what a process has created and not announced. */
  private async recoverWhile(isPlaying: () => boolean): Promise<void> {
    const recovery = new Recovery(this.harness.context);
    while (isPlaying()) {
      await pause(this.harness.clock, RECOVERY_MS);
      await recovery.pass();
    }
  }

  private async expectBalanced(): Promise<void> {
    const { harness, poor, history } = this;
    await recoverAll(harness);
    // A hold of a process whose clock is ahead is old enough for recovery only that much later.
    await harness.clock.advance(60_000);
    await recoverAll(harness);
    const all = await harness.generations();
    const account = await harness.account();
    const outputs = all.reduce((sum, { outputs: { length } }) => sum + length, 0);
    this.checker.expectCounts(all);
    expect(account, 'what is held at the end').to.include({ reserved: 0 });
    expect(account.spent, 'charged for all that was made').to.equal(this.checker.madeOutputs(outputs) * 10);
    const untouched = await harness.account(poor.accountId);
    expect([untouched.available, untouched.reserved, untouched.spent]).to.deep.equal([0, 0, 0]);
    expect(await harness.generations(poor.accountId)).to.deep.equal([]);
    expect((await verifyCredits(harness.context)).findings).to.deep.equal([]);
    if (history.faults.length === 0) await this.expectNothingLeft();
  }

  /** Without faults no request leaves a wait, and a refused one leaves nothing at all. */
  private async expectNothingLeft(): Promise<void> {
    for (const content of ['a', 'b', 'failing', 'unknown-model', 'poor'] as const) {
      const record = await this.checker.recordOf(this.requestOf(content).caller, content);
      const creates = record?.creates ?? [];
      expect(
        creates.flatMap(({ waits }) => waits),
        `waits for ${content}`,
      ).to.deep.equal([]);
      if (content in REFUSALS) expect(creates, `what ${content} leaves`).to.deep.equal([]);
    }
  }

  /** One client with its repetitions. */
  private async fulfil(wish: Wish): Promise<void> {
    const { clock } = this.harness;
    let last: SentRequest | undefined;
    for (const [index, fate] of wish.fates.entries()) {
      const server = this.serving(wish.processes[index] ?? 0);
      last = await this.send(wish, { fate, index, server, before: last });
      if (last.isHeard || wish.client === 'plain') return;
      await pause(clock, wish.client === 'ai-sdk' ? ([2_000, 4_000][index] ?? 0) : wish.backoffMs);
    }
  }

  private serving(wanted: number): ServingProcess {
    const { isExclusive, aheadMs, faults } = this.history;
    const index = isExclusive ? 0 : wanted;
    const known = this.processes[index];
    if (known !== undefined && !known.isDead) return known;
    const own = known === undefined ? faults.filter(({ process }) => process === index) : [];
    const next = new ServingProcess(this.harness, own, { isExclusive, aheadMs: aheadMs[index] ?? 0 });
    this.processes[index] = next;
    this.first ??= next;
    return next;
  }

  private requestOf(content: Wish['content']): { readonly caller: Caller; readonly request: MatchedRequest } {
    const { harness, poor } = this;
    const changes = { prompt: content, ...(content === 'unknown-model' ? { model_key: 'unknown' } : {}) };
    const body = harness.body({}, changes);
    return {
      caller: content === 'poor' ? poor : harness.caller,
      request: { content: { content }, isRetry: false, prepare: async () => body },
    };
  }

  /** Sends one request, and returns when the client has the answer or knows that it will not come. */
  private async send(
    wish: Wish,
    {
      fate,
      index,
      server,
      before,
    }: {
      readonly fate: Fate;
      readonly index: number;
      readonly server: ServingProcess;
      readonly before: SentRequest | undefined;
    },
  ): Promise<SentRequest> {
    const { clock } = this.harness;
    const { caller, request } = this.requestOf(wish.content);
    const idempotencyKey = wish.client === 'keyed' ? `key-${wish.at}` : undefined;
    const isRetry = wish.client === 'openai' && index > 0;
    const sent = await this.checker.begin({ caller, content: wish.content, isRetry, idempotencyKey, server, before });
    const isGone = { value: false };
    const leavesAt = fate === 'leaves' || fate === 'held' ? clock.now() + wish.leavesAfterMs : Infinity;
    const serving = this.serve(
      sent,
      { ...request, isRetry, idempotencyKey },
      {
        caller,
        fate,
        isGone,
        server,
      },
    ).catch((error: unknown) => void (this.failure ??= error));
    const closing = { isOver: false };
    void serving.finally(() => (closing.isOver = true));
    while (!closing.isOver && !server.isDead && clock.now() < leavesAt)
      await pause(clock, Math.min(LOOK_MS, leavesAt - clock.now()));
    if (fate === 'leaves') isGone.value = true;
    if (fate === 'leaves' && !closing.isOver) sent.place?.leave();
    if (server.isDead) {
      sent.isOpen = false;
      await pause(clock, this.history.isExclusive ? RESTART_MS : 0);
    }
    return sent;
  }

  /** What the server does with a request until its connection is closed. */
  private async serve(
    sent: SentRequest,
    request: MatchedRequest,
    { caller, fate, isGone, server }: Serving,
  ): Promise<void> {
    const { clock } = this.harness;
    let matched: Matched;
    try {
      matched = await createMatched(server.context, caller, request);
    } catch (error) {
      this.checker.refused(sent, error, REFUSALS[sent.content]);
      sent.isHeard = error instanceof ServiceError && error.code in EXPECTED && !isGone.value;
      return;
    }
    await this.checker.given(sent, matched);
    const { place } = matched;
    const close = (answered?: Generation): void => {
      if (!sent.isOpen) return;
      sent.isOpen = false;
      sent.closedAt = clock.now();
      if (answered !== undefined) {
        this.checker.delivered(sent, answered.status !== 'succeeded');
        place?.deliver(answered);
      } else place?.leave();
    };
    sent.place = { leave: () => close() };
    if (isGone.value) return close();
    let ended: Generation = matched.generation;
    while (!isTerminal(ended.status) && !server.isDead && sent.isOpen) {
      await pause(clock, LOOK_MS);
      ended = await this.harness.generation(ended.generationId).catch(() => ended);
      if (this.checker.isDeleted(ended.generationId)) break;
    }
    if (server.isDead || !sent.isOpen) return;
    if (!isTerminal(ended.status)) return close();
    close(fate === 'cut' ? undefined : ended);
    sent.isHeard = fate === 'whole' || fate === 'leaves';
    if (sent.isHeard) this.checker.heard(ended);
  }

  private async deleteLast(): Promise<void> {
    const { harness, checker } = this;
    const ended = (await harness.generations()).filter(
      ({ settledAt, generationId }) => settledAt !== undefined && !checker.isDeleted(generationId),
    );
    const last = ended.toSorted((a, b) => (a.completedAt ?? 0) - (b.completedAt ?? 0)).at(-1);
    if (last === undefined) return;
    checker.deleted(last);
    await deleteGeneration(harness.context, harness.caller, last.generationId);
  }
}

/** Answers that the client hears and does not repeat. */
const EXPECTED: Readonly<Record<string, true>> = {
  FIELD_INVALID: true,
  CREDITS_INSUFFICIENT: true,
  IDEMPOTENCY_PAYLOAD_MISMATCH: true,
};
