import type { Credential, Network } from '../harness/network.js';
import type { Chance, Scheduler } from '../harness/scheduler.js';
import type { Answer } from '../observed.js';
import { altered, drawBody, type Intent, isPassing, reordered } from './intents.js';
import { textField, UNKNOWN_ID } from './operator.js';
import { Uploader } from './uploader.js';

/** Ids that developers share, so that each also tries ids of others. */
export interface KnownIds {
  readonly generationIds: Set<string>;
  readonly uploadIds: Set<string>;
}

const MAX_RETRIES = 4;

/** A random client program: it creates, retries, changes its mind, races itself and tries foreign ids. */
export class Developer {
  readonly intents: Intent[] = [];
  private readonly uploader: Uploader;
  private readonly acts: readonly (() => Promise<void>)[];
  private made = 0;

  constructor(
    readonly name: string,
    private readonly credentials: readonly Credential[],
    private readonly network: Network,
    private readonly scheduler: Scheduler,
    private readonly chance: Chance,
    private readonly others: KnownIds,
  ) {
    this.uploader = new Uploader(name, (request) => this.ask(request), network, scheduler, chance);
    this.acts = [
      () => this.createAnew(),
      () => this.createAnew(),
      () => this.createAnew(),
      () => this.createAndCancel(),
      () => this.repeat(),
      () => this.repeatOtherwise(),
      () => this.race(),
      () => this.raceOtherwise(),
      () => this.burst(),
      () => this.look(),
      () => this.look(),
      () => this.cancel(),
      () => this.cancelTwice(),
      () => this.delete(),
      () => this.askForForeignIds(),
      () => this.askForPrices(),
      () => this.upload(),
      () => this.askBeyondBalance(),
    ];
  }

  /** Performs this many actions, with pauses of at most `thinkMs` between them. */
  async work(actions: number, thinkMs: number): Promise<void> {
    for (let done = 0; done < actions; done += 1) {
      await this.scheduler.pause(this.chance.between(0, thinkMs));
      await this.chance.pick(this.acts)();
    }
  }

  /** Retries every intent until its outcome is known. */
  async makeSure(): Promise<void> {
    for (const intent of this.intents)
      if (intent.generationId === undefined && !intent.isRefused) await this.insist(intent);
  }

  /** Repeats some of its requests from long ago. */
  async repeatOldRequests(): Promise<void> {
    const intent = this.anIntent();
    if (intent?.generationId !== undefined)
      await this.ask({ operation: this.chance.pick(['get', 'cancel']), generationId: intent.generationId });
    if (intent) await this.ask({ operation: 'create', key: intent.key, body: intent.body });
    if (this.uploader.ready.length > 0) await this.create(this.newIntent());
  }

  private async insist(intent: Intent): Promise<Answer> {
    for (;;) {
      const answer = await this.create(intent);
      if (answer.outcome !== 'lost' && !(answer.outcome === 'refused' && isPassing(answer.code))) return answer;
      await this.scheduler.pause(2_000);
    }
  }

  private ask(request: Parameters<Network['ask']>[0]): Promise<Answer> {
    return this.network.ask(request, this.chance.pick(this.credentials));
  }

  private newIntent(): Intent {
    this.made += 1;
    const key = `${this.name}-${this.made}`;
    const foreign = this.chance.happens(100) ? [...this.others.uploadIds].slice(0, 1) : [];
    const intent: Intent = {
      key,
      body: drawBody(this.chance, `a picture for ${key}`, [...this.uploader.ready, ...foreign]),
      isRefused: false,
    };
    this.intents.push(intent);
    return intent;
  }

  private async create(intent: Intent, body = intent.body): Promise<Answer> {
    const answer = await this.ask({ operation: 'create', key: intent.key, body });
    if (answer.outcome === 'success') {
      const id = textField(answer.data, 'generation_id');
      intent.generationId = id;
      this.others.generationIds.add(id);
    }
    if (answer.outcome === 'refused' && !isPassing(answer.code)) intent.isRefused = true;
    return answer;
  }

  private async createAnew(): Promise<void> {
    const intent = this.newIntent();
    await this.persist(intent);
  }

  /** Retries after an answer that leaves the outcome open, as a well-made client does, with a limit. */
  private async persist(intent: Intent): Promise<void> {
    for (let tries = 0; tries < MAX_RETRIES; tries += 1) {
      const answer = await this.create(intent);
      const isOpen = answer.outcome === 'lost' || (answer.outcome === 'refused' && isPassing(answer.code));
      if (!isOpen || this.chance.happens(300)) return;
      await this.scheduler.pause(this.chance.pick([0, 1_000, 4_000, 12_000]));
    }
  }

  private async createAndCancel(): Promise<void> {
    const intent = this.newIntent();
    await this.create(intent);
    await this.scheduler.pause(this.chance.skewed(3_000));
    if (intent.generationId !== undefined) await this.ask({ operation: 'cancel', generationId: intent.generationId });
  }

  private async repeat(): Promise<void> {
    const intent = this.anIntent();
    if (intent) await this.create(intent, this.chance.happens(300) ? reordered(intent.body) : intent.body);
  }

  private async repeatOtherwise(): Promise<void> {
    const intent = this.anIntent();
    if (intent) await this.ask({ operation: 'create', key: intent.key, body: altered(this.chance, intent.body) });
  }

  private async race(): Promise<void> {
    const intent = this.newIntent();
    await Promise.all(Array.from({ length: this.chance.between(2, 3) }, () => this.create(intent)));
    await this.persist(intent);
  }

  /** Either payload may be the first under the key; only one of them may take effect. */
  private async raceOtherwise(): Promise<void> {
    const intent = this.newIntent();
    const other = altered(this.chance, intent.body);
    await Promise.all([this.create(intent), this.ask({ operation: 'create', key: intent.key, body: other })]);
  }

  private async burst(): Promise<void> {
    await Promise.all(Array.from({ length: this.chance.between(2, 6) }, () => this.create(this.newIntent())));
  }

  /** Requests more than the balance, retries under one key, and at some point credits are granted. */
  private async askBeyondBalance(): Promise<void> {
    const dear = {
      model_key: 'plain',
      operation: 'image_generation',
      prompt: `a wish of ${this.name}`,
      parameters: { count: 4 },
    };
    const intent: Intent = { ...this.newIntent(), body: dear, isRefused: false };
    this.intents[this.intents.length - 1] = intent;
    const asked: Promise<Answer>[] = [];
    for (let times = this.chance.between(2, 5); times > 0; times -= 1) {
      asked.push(this.create(intent));
      if (this.chance.happens(300))
        void this.network.ask({
          operation: 'grant',
          accountId: this.account,
          operationId: `${intent.key}-${times}`,
          credits: this.chance.between(5, 40),
        });
      await this.scheduler.pause(this.chance.pick([100, 3_000, 11_000]));
    }
    await Promise.all(asked);
  }

  private get account(): string {
    return (this.credentials[0] as Credential).accountId;
  }

  private async look(): Promise<void> {
    const id = this.aGeneration();
    if (id !== undefined) await this.ask({ operation: 'get', generationId: id });
  }

  private async cancel(): Promise<void> {
    const id = this.aGeneration();
    if (id !== undefined) await this.ask({ operation: 'cancel', generationId: id });
  }

  /** Sometimes twice concurrently, and sometimes for an open generation, which is refused; then it is looked up. */
  private async delete(): Promise<void> {
    const id = this.aGeneration();
    if (id === undefined) return;
    const times = this.chance.happens(200) ? 2 : 1;
    await Promise.all(Array.from({ length: times }, () => this.ask({ operation: 'delete', generationId: id })));
    if (this.chance.happens(300)) await this.ask({ operation: 'get', generationId: id });
  }

  private async cancelTwice(): Promise<void> {
    const id = this.aGeneration();
    if (id === undefined) return;
    await Promise.all([
      this.ask({ operation: 'cancel', generationId: id }),
      this.ask({ operation: 'cancel', generationId: id }),
    ]);
    await this.ask({ operation: 'get', generationId: id });
  }

  private async askForForeignIds(): Promise<void> {
    const generationId = this.chance.pick([UNKNOWN_ID, 'no-id', ...this.others.generationIds]);
    await this.ask({ operation: this.chance.pick(['get', 'cancel', 'delete']), generationId });
    const nobody: Credential = {
      ...this.chance.pick(this.credentials),
      keyId: 'nobody',
      secret: this.chance.pick(['svc_anon_1', '', `svc_live_${'0'.repeat(49)}`]),
    };
    await this.network.ask({ operation: 'get', generationId }, nobody);
    const uploadId = this.chance.pick([UNKNOWN_ID, 'no-id', ...this.others.uploadIds]);
    await this.ask({ operation: 'complete', key: `${this.name}-pry-${this.chance.between(1, 3)}`, uploadId, body: {} });
  }

  private async askForPrices(): Promise<void> {
    await this.ask({ operation: 'credits' });
    await this.ask({ operation: 'estimate', body: drawBody(this.chance, 'an estimate', []) });
  }

  private async upload(): Promise<void> {
    const uploadId = await this.uploader.journey();
    if (uploadId !== undefined) this.others.uploadIds.add(uploadId);
  }

  private anIntent(): Intent | undefined {
    return this.intents.length > 0 ? this.chance.pick(this.intents) : undefined;
  }

  private aGeneration(): string | undefined {
    const known = this.intents.flatMap(({ generationId }) => generationId ?? []);
    return known.length > 0 ? this.chance.pick(known) : undefined;
  }
}
