import { expect } from 'chai';
import type { Caller } from '../../../core/access/credential.js';
import type { Context } from '../../../core/context.js';
import { ServiceError } from '../../../core/errors.js';
import type { Generation } from '../../../core/generation/generation.js';
import { Dispatcher } from '../../../core/generation/run/dispatcher.js';
import type { JsonObject } from '../../../core/json.js';
import { Recovery } from '../../../core/recovery/recover.js';
import { interceptedProvider, type PortCall } from '../../fixtures/intercepted.js';
import { imageModel, imagePrice } from '../../fixtures/models.js';
import { plainImage } from '../../fixtures/plain-media.js';
import { oneProvider } from '../../fixtures/scripted-provider.js';
import { CoreHarness, untilSettled } from '../../harness/core-harness.js';
import { answerTo, type ClientRequest } from '../harness/serve-request.js';
import { type Answer, type Asked, type Party, type Premises, type Request, Violation } from '../observed.js';
import { SimulationChecker } from './checker.js';

export const SECRET = `svc_live_${'Secret0'.repeat(7)}`;

/** Core in one process that is also a worker, on memory adapters, observed by a checker. */
export class CheckedService {
  readonly checker: SimulationChecker;
  readonly context: Context;
  readonly dispatcher: Dispatcher;
  caller!: Caller;
  /** Changes a call's arguments before it reaches its store, as a mistake in core would. */
  tamper: (call: PortCall) => readonly unknown[] = (call) => call.args;
  private readonly found: Violation[] = [];
  private asked = 0;

  private constructor(
    readonly harness: CoreHarness,
    { isExclusive, providerLimits }: Pick<Premises, 'isExclusive' | 'providerLimits'>,
  ) {
    this.checker = new SimulationChecker({
      durable: harness.ports,
      models: harness.models,
      settings: harness.settings,
      providerLimits,
      recoveryIntervalMs: 5_000,
      secrets: () => [SECRET],
      isExclusive,
    });
    const intercept = (call: PortCall): Promise<unknown> => this.intercept(call);
    const provider = interceptedProvider(harness.provider, intercept);
    this.context = harness.process(intercept, { providers: oneProvider(provider) });
    this.dispatcher = new Dispatcher(this.context, 'worker-1');
  }

  static async open(
    credits = 1_000,
    { isExclusive = false, providerLimits = {} }: Partial<Premises> = {},
  ): Promise<CheckedService> {
    const models = [
      imageModel({ cancelFloorCredits: 3 }),
      imageModel({
        modelKey: 'odd',
        price: imagePrice(1, { microcreditsPerUnit: 2_333_334, baseMicrocredits: 100_001, minimumCredits: 3 }),
      }),
    ];
    const checked = new CheckedService(await CoreHarness.open({ models, credits: 0 }), {
      isExclusive,
      providerLimits,
    });
    checked.caller = await checked.newCaller(credits);
    return checked;
  }

  /** A caller whose creation the checker observes. */
  newCaller(credits: number): Promise<Caller> {
    return this.harness.newCaller(credits, this.context);
  }

  party({ accountId, appId, credentialId }: Caller = this.caller): Party {
    return { accountId, appId, keyId: credentialId };
  }

  /** Follows a request from sending to answer; `twist` may change the answer on its way out. */
  async ask(request: Request, { caller = this.caller, twist = (answer: Answer) => answer } = {}): Promise<Answer> {
    const asked = this.begin(request, caller);
    const answer = twist(await this.answerTo(request, caller));
    await this.end(asked, answer);
    return answer;
  }

  begin(request: Request, caller: Caller = this.caller): Asked {
    this.asked += 1;
    const asked = { number: this.asked, at: this.now, party: this.party(caller), request };
    this.checker.asked(asked);
    this.checker.arrived(asked, this.now);
    return asked;
  }

  async end(asked: Asked, answer: Answer): Promise<void> {
    await this.noting(() => this.checker.served(asked, answer, this.now));
    await this.noting(() => this.checker.answered(asked, answer, this.now));
  }

  create(key: string, parameters: JsonObject = {}, changes: JsonObject = {}): Promise<Answer> {
    return this.ask({ operation: 'create', key, body: this.harness.body(parameters, changes) });
  }

  async created(key: string, parameters: JsonObject = {}, changes: JsonObject = {}): Promise<string> {
    const answer = await this.create(key, parameters, changes);
    if (answer.outcome !== 'success') throw new Error(`Not accepted: ${JSON.stringify(answer)}`);
    return answer.data['generation_id'] as string;
  }

  /** Runs a generation to its end. */
  async finished(generationId: string): Promise<Generation> {
    await this.harness.clock.run(this.dispatcher.deliver(generationId));
    return untilSettled(this.harness, generationId);
  }

  async uploaded(bytes = plainImage()): Promise<string> {
    const body = { filename: 'a.png', media_type: 'image/png', byte_size: bytes.byteLength, role: 'reference_image' };
    const prepared = await this.ask({ operation: 'prepare', key: `up-${this.asked}`, body });
    if (prepared.outcome !== 'success') throw new Error('Not prepared.');
    const {
      upload_id: uploadId,
      upload_url: url,
      required_headers: headers,
    } = prepared.data as { upload_id: string; upload_url: string; required_headers: Record<string, string> };
    const { status } = this.harness.ports.objects.handle({ method: 'PUT', url, headers, body: bytes });
    await this.checker.sent(uploadId, bytes, status);
    await this.ask({ operation: 'complete', key: `done-${this.asked}`, uploadId, body: {} });
    return uploadId;
  }

  /** Shows the checker a call that no process of this service made. */
  async show(call: string, args: readonly unknown[], result: unknown, process = 'worker-2'): Promise<void> {
    await this.noting(() => this.checker.effect({ at: this.now, process, processNow: this.now, call, args, result }));
  }

  /** Shows the checker a write of a generation that no process made, and that the store may not have. */
  async rewrite(generationId: string, changes: Partial<Generation>, isStored = false): Promise<void> {
    const { version, ...g } = await this.harness.generation(generationId);
    const next: Generation = { ...g, ...changes, version: version + 1 };
    if (isStored) await this.harness.ports.generations.replace(next, version);
    await this.show('generations.replace', [next, version], 'applied');
  }

  /** A lease that another worker takes now, under the second fence. */
  leaseOfAnother(): NonNullable<Generation['lease']> {
    const { now } = this;
    return {
      worker: 'worker-2',
      fence: 2,
      renewedAt: now,
      expiresAt: now + this.harness.settings.leaseMs,
      bootId: 'boot-2',
    };
  }

  async noting(look: () => Promise<void> | void): Promise<void> {
    try {
      await look();
    } catch (error) {
      if (!(error instanceof Violation)) throw error;
      this.found.push(error);
    }
  }

  async recover(): Promise<void> {
    await this.harness.clock.run(new Recovery(this.context).pass());
  }

  expectNothing(): void {
    expect(this.found.map(({ message }) => message)).to.deep.equal([]);
  }

  expectFirst(invariant: number, saying: string): void {
    const [first] = this.found;
    expect(first?.message ?? 'nothing found').to.include(saying);
    expect(first?.invariant).to.equal(invariant);
  }

  get now(): number {
    return this.harness.clock.now();
  }

  private async answerTo(request: Request, caller: Caller): Promise<Answer> {
    try {
      return await this.harness.clock.run(answerTo(this.context, caller, request as ClientRequest));
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      return { outcome: 'refused', code: error.code, message: error.message };
    }
  }

  private async intercept(call: PortCall): Promise<unknown> {
    const [port = '', method = ''] = call.name.split('.');
    const args = this.tamper(call);
    const shown = { at: this.now, process: 'worker-1', processNow: this.now, call: call.name, args };
    if (port === 'provider') await this.noting(() => this.checker.calling(shown));
    const target: unknown = args === call.args ? undefined : Reflect.get(this.harness.ports, port);
    const changed: unknown = typeof target === 'object' && target !== null ? Reflect.get(target, method) : undefined;
    const result: unknown =
      typeof changed === 'function' ? await Reflect.apply(changed, target, [...args]) : await call.proceed();
    await this.noting(() => this.checker.effect({ ...shown, result }));
    return result;
  }
}
