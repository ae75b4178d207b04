import { randomUUID } from 'node:crypto';
import { createPerson } from '../../../core/people/manage-people.js';
import { promotePerson } from '../../../core/people/operators.js';
import type { Person } from '../../../core/people/person.js';
import { aPerson } from '../../fixtures/stored-records.js';
import { OAuthHarness } from '../oauth/oauth-harness.js';
import { clientOf, type ConsoleClient } from './console-harness.js';

/** A line of the log about an act of an operator. */
export type Told = Readonly<Record<string, unknown>>;

/** A service with the operator's area, the operator olga of an account of her own, and what the log says of her acts. */
export class OperatorHarness {
  private constructor(
    readonly service: OAuthHarness,
    readonly operator: Person,
    readonly told: Told[],
  ) {}

  static async open(hasOperatorArea = true): Promise<OperatorHarness> {
    const told: Told[] = [];
    const log = {
      info: (event: string, about: Told) => void (event === 'operator act' && told.push(about)),
      warn: () => undefined,
    };
    const service = await OAuthHarness.open({ people: { hasOperatorArea } }, { log });
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
