import { never } from '../faults/port-faults.js';
import type { Answer, Asked, CompatibleCreate, Party, Request } from '../observed.js';
import { Connection, serveCompatible } from './compatible-create.js';
import type { RunContext } from './run-context.js';
import { brief, type Chance } from './scheduler.js';
import { serve } from './serve-request.js';
import type { Service } from './service.js';
import type { SimulatedProcess } from './simulated-process.js';

const CLIENT_TIMEOUT_MS = 30_000;
const LATEST_MS = 20_000;
const LOST: Answer = { outcome: 'lost' };

/** A client's own credential: the party it represents, and the secret that proves it. */
export interface Credential extends Party {
  readonly secret: string;
  /** The owner of the token's grant; absent for an API key. */
  readonly personId?: string;
}

/** How a client waits for the answer to a create over `/v1`, and what becomes of the answer. */
export interface Line {
  readonly leavesAfterMs: number;
  readonly fate: 'whole' | 'cut' | 'held';
  readonly to?: SimulatedProcess | undefined;
  /** Called with the id of the generation, which the head of the answer names. */
  readonly onHead?: (generationId: string) => void;
}

interface Route {
  readonly to: SimulatedProcess | undefined;
  readonly connection: Connection;
}

interface Sending extends Route {
  readonly request: Request;
  readonly credential: Credential | undefined;
  readonly leavesAfterMs: number;
}

/** The route between clients and processes: requests and answers take time, get lost, and are duplicated. */
export class Network {
  private asked = 0;

  constructor(
    private readonly context: RunContext,
    private readonly service: Service,
    private readonly chance: Chance,
  ) {}

  /**
   * Sends a request to any process that accepts it, or to the given one. Never rejects: a broken connection is an
   * answer too.
   */
  async ask(request: Request, credential?: Credential, to = this.service.door()): Promise<Answer> {
    return this.send({ request, credential, to, leavesAfterMs: CLIENT_TIMEOUT_MS, connection: new Connection() });
  }

  /**
   * Sends a create over `/v1`, whose client closes the connection after `leavesAfterMs`. `fate`: the answer is cut before
   * its end, or a proxy keeps the connection to the process open when the client has gone.
   */
  async askCompatible(
    request: CompatibleCreate,
    credential: Credential,
    { leavesAfterMs, fate, to = this.service.door(), onHead }: Line,
  ): Promise<Answer> {
    const connection = new Connection(fate === 'cut', onHead);
    const answer = await this.send({ request, credential, to, leavesAfterMs, connection });
    if (fate !== 'held') this.context.scheduler.after(this.chance.skewed(20), () => connection.close(), to);
    return answer;
  }

  private async send({ request, credential, to, leavesAfterMs, connection }: Sending): Promise<Answer> {
    const { scheduler, observer, timeline } = this.context;
    this.asked += 1;
    const party = credential && partyOf(credential);
    const asked: Asked = { number: this.asked, at: scheduler.now, ...(party ? { party } : {}), request };
    timeline.note(scheduler.now, `ask ${asked.number}`, () => `${to?.name ?? 'nobody'}: ${brief(request)}`);
    observer.asked(asked);
    const answer = await Promise.race([
      this.carry(asked, credential?.secret, { to, connection }),
      scheduler.pause(leavesAfterMs).then(() => LOST),
    ]);
    timeline.note(scheduler.now, `ask ${asked.number}`, () => `-> ${brief(answer)}`);
    observer.answered(asked, answer, scheduler.now);
    return answer;
  }

  /** Sends a client's bytes to a signed address. */
  async put(
    uploadId: string,
    url: string,
    headers: Readonly<Record<string, string>>,
    bytes: Uint8Array,
  ): Promise<void> {
    const { scheduler, observer, timeline } = this.context;
    await scheduler.pause(this.chance.skewed(2_000));
    const { status } = this.service.durable.objects.handle({ method: 'PUT', url, headers, body: bytes });
    timeline.note(scheduler.now, 'a client', () => `PUT of ${bytes.byteLength} bytes for ${uploadId}: ${status}`);
    await observer.sent(uploadId, bytes, status);
    if (status === 200) await this.service.objects.arrived(new URL(url).pathname.slice(1));
  }

  private async carry(asked: Asked, secret: string | undefined, route: Route): Promise<Answer> {
    const { scheduler, chance } = this.context;
    const fate = this.fate();
    await scheduler.pause(fate === 'late' ? chance.between(1, LATEST_MS) : chance.skewed(5));
    if (fate === 'lost request') return never();
    // A proxy in between repeats the request, and discards the second answer.
    if (fate === 'twice')
      scheduler.after(chance.between(0, LATEST_MS), () => {
        void this.arrive(asked, secret, { to: this.service.door(), connection: new Connection() });
      });
    const answer = await this.arrive(asked, secret, route);
    await scheduler.pause(chance.skewed(5));
    return fate === 'lost answer' ? never() : answer;
  }

  private async arrive(asked: Asked, secret: string | undefined, { to, connection }: Route): Promise<Answer> {
    const { scheduler, observer } = this.context;
    if (to === undefined || !to.takesRequests) return LOST;
    // A process that sleeps handles it when it wakes up.
    await new Promise<void>((resolve) => {
      scheduler.after(0, resolve, to);
    });
    observer.arrived(asked, scheduler.now);
    const { request } = asked;
    try {
      if (request.operation === 'create-compatible')
        return await serveCompatible(this.context, to, { asked, request, secret, connection });
      const answer = await serve(to, request, secret);
      if (!to.isAlive) return never();
      await observer.served(asked, answer, scheduler.now);
      return answer;
    } catch (error) {
      scheduler.fail(error);
      return never();
    }
  }

  private fate(): 'late' | 'lost request' | 'lost answer' | 'twice' | undefined {
    const { profile, tally } = this.context;
    if (!this.chance.happens(profile.clientPerMille)) return undefined;
    const fate = this.chance.pick(['late', 'lost request', 'lost answer', 'twice'] as const);
    tally.add(`client ${fate}`);
    return fate;
  }
}

function partyOf({ secret: _secret, personId: _personId, ...party }: Credential): Party {
  return party;
}
