import { randomUUID } from 'node:crypto';
import { createAccount } from '../../../core/access/manage.js';
import { createPerson } from '../../../core/people/manage-people.js';
import { promotePerson } from '../../../core/people/operators.js';
import type { Person } from '../../../core/people/person.js';
import { beginSession, type SignInMethod } from '../../../core/people/sessions.js';
import type { Ports } from '../../../core/ports/ports.js';
import { aPerson } from '../../fixtures/stored-records.js';
import { OAuthHarness, PASSWORD } from '../oauth/oauth-harness.js';

export interface ConsoleAnswer {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly data: Record<string, unknown>;
  readonly headers: Headers;
  readonly text: string;
}

/** One person's browser at the account page's own API. */
export class ConsoleClient {
  constructor(
    private readonly origin: string,
    public cookie: string,
  ) {}

  get(path: string, headers: Record<string, string> = {}): Promise<ConsoleAnswer> {
    return this.send('GET', path, { 'Sec-Fetch-Site': 'same-origin', ...headers });
  }

  post(path: string, body: unknown = {}, headers: Record<string, string> = {}): Promise<ConsoleAnswer> {
    return this.send(
      'POST',
      path,
      { 'Origin': this.origin, 'Content-Type': 'application/json', ...headers },
      JSON.stringify(body),
    );
  }

  /** Sends a request, without headers whose value is empty. */
  async send(method: string, path: string, headers: Record<string, string>, body?: string): Promise<ConsoleAnswer> {
    const sent = Object.entries({ Cookie: this.cookie, ...headers }).filter(([, value]) => value !== '');
    const response = await fetch(`${this.origin}/console/api${path}`, {
      method,
      headers: Object.fromEntries(sent),
      ...(body === undefined ? {} : { body }),
    });
    for (const line of response.headers.getSetCookie())
      if (line.startsWith('darkroom_session=')) this.cookie = line.split(';')[0] ?? '';
    const text = await response.text();
    const envelope = JSON.parse(text) as { code: string; message: string; data?: Record<string, unknown> };
    return {
      status: response.status,
      code: envelope.code,
      message: envelope.message,
      data: envelope.data ?? {},
      headers: response.headers,
      text,
    };
  }
}

/** A client with a session of a person, started this long ago. */
export async function clientOf(
  { harness, origin }: OAuthHarness,
  person: Person,
  method: SignInMethod = 'password',
): Promise<ConsoleClient> {
  const current = (await harness.context.people.read(person.personId)) ?? person;
  const { secret } = await beginSession(harness.context, current, { method, userAgent: 'a test' });
  return new ConsoleClient(origin, `darkroom_session=${secret}`);
}

/** A person of another account. */
export async function stranger({ harness: { context } }: OAuthHarness): Promise<Person> {
  const { accountId } = await createAccount(context, { name: 'another account' });
  return createPerson(context, { accountId, email: 'eve@example.com', password: PASSWORD });
}

/** A line of the log about an act of an operator. */
export type Told = Readonly<Record<string, unknown>>;

/**
 * A service with the operator's area, the operator olga of an account of her own, and the log entries of her actions.
 */
export class OperatorHarness {
  private constructor(
    readonly service: OAuthHarness,
    readonly operator: Person,
    readonly told: Told[],
  ) {}

  static async open(hasOperatorArea = true, ports: Partial<Ports> = {}): Promise<OperatorHarness> {
    const told: Told[] = [];
    const log = {
      info: (event: string, about: Told) => void (event === 'operator act' && told.push(about)),
      warn: () => undefined,
    };
    const service = await OAuthHarness.open({ people: { hasOperatorArea } }, { log, ports });
    const operator = await makeOperator(service, 'olga@example.com');
    return new OperatorHarness(service, operator, told);
  }

  /** The operator's browser, after a sign-in with a passkey. */
  signedIn(): Promise<ConsoleClient> {
    return clientOf(this.service, this.operator, 'passkey');
  }

  close(): Promise<void> {
    return this.service.close();
  }
}

/** Creates a generation with a key. It stays queued while no worker runs. */
export async function generate(service: OAuthHarness, secret: string, prompt: string): Promise<string> {
  const { body } = await service.post(
    '/api/v1/developer/generations',
    { model_key: 'picture', operation: 'image_generation', prompt, parameters: { size: '96x64' } },
    { 'Authorization': `Bearer ${secret}`, 'Idempotency-Key': randomUUID() },
  );
  return String((body['data'] as Record<string, unknown>)['generation_id']);
}

/** A new person of the service's account, with a passkey, who is an operator. */
export async function makeOperator({ harness: { context }, person }: OAuthHarness, email: string): Promise<Person> {
  const made = await createPerson(context, { accountId: person.accountId, email });
  await context.people.replace({ ...made, passkeys: aPerson(1).passkeys, version: made.version + 1 }, made.version);
  return promotePerson(context, made.personId);
}
