import { LiveService } from '../../../test/service/live-service.js';
import { Darkroom } from '../src/index.js';
import { EventsLink } from './events-link.js';

/** The compiled program, behind a link that tests hold up. */
export class LinkedService {
  private constructor(
    readonly service: LiveService,
    readonly link: EventsLink,
  ) {}

  static async start(): Promise<LinkedService> {
    const service = await LiveService.start();
    return new LinkedService(service, await EventsLink.to(service.url));
  }

  /** A client of a new account, connected over the link, whose counts are reset. */
  async newClient(): Promise<Darkroom> {
    this.link.asked = { events: [], polls: 0 };
    return new Darkroom({ baseUrl: this.link.url, apiKey: (await this.service.tenant(10)).secret });
  }

  async remove(): Promise<void> {
    this.link.close();
    await this.service.remove();
  }
}

/** A request for a generation that takes this long. */
export const slowRequest = (delayMs: number) =>
  ({
    model_key: 'sandbox-test',
    operation: 'image_generation',
    prompt: 'a lighthouse',
    parameters: { behaviour: 'slow', delay_ms: delayMs, size: '128x128' },
  }) as const;

/** Types of events, in the order in which they may occur for a generation. */
export const ORDER = ['queued', 'running', 'progress', 'cancel_requested', 'ended'];
