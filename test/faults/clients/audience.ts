import { setTimeout as sleep } from 'node:timers/promises';
import { SCOPES } from '../../../core/access/credential.js';
import type { Draw } from '../draws.js';
import type { Installation } from '../harness/installation.js';
import type { History } from '../../history/recorded/history.js';
import type { ApiClient } from './api-client.js';
import type { ClientPool } from './client-pool.js';
import { OrdinaryClient } from './ordinary-client.js';
import { FollowingClient, StreamFollower, type StreamUrls } from './stream-follower.js';
import { WebhookOwner } from './webhook-owner.js';

const API = '/api/v1/developer';
const GRANTED = 1_000_000;
const ALL = ['generation.running', 'generation.succeeded', 'generation.failed', 'generation.cancelled'] as const;
const FOLLOWING = 2;
const LOOK_EVERY_MS = 1_000;

/** Everyone who is notified of generation events: the webhooks of Apps, and clients that follow event streams. */
export class Audience {
  private readonly owners: WebhookOwner[] = [];
  private readonly followers: StreamFollower[] = [];
  private readonly following: FollowingClient[] = [];
  private single: OrdinaryClient | undefined;
  private isListening = true;
  private listening: Promise<unknown> = Promise.resolve();

  constructor(
    private readonly installation: Installation,
    private readonly pool: ClientPool,
    private readonly signal: AbortSignal,
  ) {}

  /** Creates webhooks of all kinds while nothing fails, and starts to listen. */
  async gather(rich: ApiClient, other: ApiClient, draw: (index: number) => Draw): Promise<void> {
    const ofRich = await this.owner(rich.party);
    await ofRich.make({ name: 'rich-all', at: 'receiver-1', events: ALL, conduct: 'takes' });
    // Each takes ten attempts, which is a lot for a small machine. So are deliveries to many endpoints: most
    // generations belong to this App.
    await ofRich.make({ name: 'rich-refuses', at: 'receiver-1', events: ['generation.cancelled'], conduct: 'refuses' });
    const ofOther = await this.owner(other.party);
    await ofOther.make({ name: 'other-all', at: 'receiver-2', events: ALL, conduct: 'takes' });
    await ofOther.make({ name: 'other-ends', at: 'receiver-1', conduct: 'takes' });
    await ofOther.make({ name: 'other-leaves', at: 'receiver-2', conduct: 'leaves' });
    await ofOther.make({ name: 'other-failed', at: 'receiver-1', events: ['generation.failed'], conduct: 'takes' });
    this.single = await this.singleAddresses(draw(80));
    for (const [index, api] of [rich, other].entries())
      this.followers.push(new StreamFollower(`follower of ${api.party.name}`, api, this.streamUrls, draw(81 + index)));
    for (let index = 0; index < FOLLOWING; index += 1)
      this.following.push(new FollowingClient(`following ${index + 1}`, rich, this.streamUrls, draw(85 + index)));
    this.listening = Promise.all(this.followers.map((one) => one.run(() => this.isListening, this.signal)));
  }

  /** Adds the load of the audience itself. */
  async load(shouldContinue: () => boolean): Promise<void> {
    await Promise.all([
      this.single?.run(shouldContinue),
      ...this.following.map((one) => one.run(shouldContinue, this.signal)),
    ]);
  }

  /** Waits until no delivery is open and followers have received every accepted end, or until the time is over. */
  async untilTold(until: number): Promise<void> {
    while (this.pool.now() < until && !(await this.isTold())) await this.pause();
    this.isListening = false;
    await this.listening;
  }

  async history(): Promise<Pick<History, 'webhooks' | 'streams'>> {
    const { receivers } = this.installation.watchedInUse;
    const found = await Promise.all(this.owners.map((owner) => owner.disabledBecause()));
    return {
      webhooks: {
        endpoints: this.owners.flatMap(({ endpoints }) => endpoints),
        messages: receivers.messages,
        deliveries: (await Promise.all(this.owners.map((owner) => owner.deliveries()))).flat(),
        disabledBecause: Object.assign({}, ...found) as Record<string, string | undefined>,
        followedRedirects: receivers.followedRedirects,
      },
      streams: [...this.followers, ...this.following].flatMap(({ streams }) => streams),
    };
  }

  private async isTold(): Promise<boolean> {
    for (const follower of this.followers)
      if (!this.acceptedOf(follower).every((id) => follower.hasEnded(id))) return false;
    for (const owner of this.owners) if (await owner.hasOpenDeliveries()) return false;
    return true;
  }

  private acceptedOf({ appId, since }: StreamFollower): string[] {
    return this.pool.accepted(appId, since);
  }

  private async owner(party: {
    readonly name: string;
    readonly accountId: string;
    readonly appId: string;
  }): Promise<WebhookOwner> {
    const secret = await this.pool.webhookKey(`${party.name}-webhooks`, party);
    const url = this.installation.urls['rest-1'];
    const owner = new WebhookOwner(
      { by: party.name, secret, url },
      this.installation.watchedInUse.receivers,
      this.pool,
    );
    this.owners.push(owner);
    return owner;
  }

  /** A client with its own App that names a webhook address in each create. */
  private async singleAddresses(draw: Draw): Promise<OrdinaryClient> {
    const owner = await this.pool.openOwner('single', GRANTED);
    const webhooks = await this.owner({ name: 'single', ...owner });
    const webhookUrl = await webhooks.makeDefault({ name: 'single-address', at: 'receiver-1', conduct: 'takes' });
    const { api } = await this.pool.giveKey('single', owner, { scopes: SCOPES, webhookUrl });
    return new OrdinaryClient(api, draw);
  }

  private get streamUrls(): StreamUrls {
    const { streams } = this.installation.watchedInUse;
    const url = (rest: keyof typeof streams) => `http://127.0.0.1:${streams[rest].port}${API}`;
    return { 'rest-1': url('rest-1'), 'rest-2': url('rest-2') };
  }

  private pause(): Promise<void> {
    return sleep(LOOK_EVERY_MS, undefined, { signal: this.signal });
  }
}
