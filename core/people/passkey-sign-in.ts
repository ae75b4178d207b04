import type { Context } from '../context.js';
import type { PasskeyAssertion, RelyingParty } from '../ports/passkey-verifier.js';
import { isUuid } from '../uuid.js';
import { changePerson } from './manage-people.js';
import { createChallenge, takeChallenge } from './passkey-challenge.js';
import type { Passkey, Person } from './person.js';

type Ports = Pick<Context, 'people' | 'artefacts' | 'digests' | 'ids' | 'clock' | 'passkeys' | 'call'>;

const KIND = 'passkey-sign-in';
const DAY_MS = 86_400_000;

/** What comes back from the browser that was given the challenge. */
export interface PasskeyAnswer {
  readonly challenge: string;
  /** Whose passkey it is, as the authenticator was told when it made it. */
  readonly personId: string;
  readonly assertion: PasskeyAssertion;
}

/** The challenge of a sign-in, for five minutes. It must stay with the browser that asked for it. */
export function beginPasskeySignIn(ports: Ports): Promise<string> {
  return createChallenge(ports, KIND);
}

/**
 * The person who has signed in with a passkey of theirs. Undefined for a challenge that is used, unknown or too old, a
 * passkey that is not the person's, whatever it has not signed as it should, a counter that has not grown, and a person
 * who is disabled.
 */
export async function personByPasskey(
  ports: Ports,
  party: RelyingParty,
  { challenge, personId, assertion }: PasskeyAnswer,
): Promise<Person | undefined> {
  if (!(await takeChallenge(ports, KIND, challenge))) return undefined;
  // A passkey is looked for at the person whom it names: that another one has registered its id is of no effect.
  const person = isUuid(personId) ? await ports.people.read(personId) : null;
  const passkey = person?.passkeys.find(({ credentialId }) => credentialId === assertion.credentialId);
  if (!passkey) return undefined;
  const counter = await ports.passkeys.readCounter(assertion, { challenge, party }, passkey.publicKey);
  return counter === undefined ? undefined : noteUse(ports, personId, { ...passkey, counter });
}

/** Keeps the counter and the UTC day of the use. Undefined if the passkey may not be used, as it is stored by now. */
async function noteUse(ports: Ports, personId: string, used: Passkey): Promise<Person | undefined> {
  const lastUsedAt = Math.floor(ports.clock.now() / DAY_MS) * DAY_MS;
  let isRefused = false;
  const person = await changePerson(ports, personId, (current) => {
    const known = current.passkeys.find(({ credentialId }) => credentialId === used.credentialId);
    isRefused =
      known?.publicKey !== used.publicKey || current.disabledAt !== undefined || !hasGrown(known.counter, used.counter);
    if (isRefused || (known?.counter === used.counter && known.lastUsedAt === lastUsedAt)) return current;
    const passkeys = current.passkeys.map((one) =>
      one.credentialId === used.credentialId ? { ...one, counter: used.counter, lastUsedAt } : one,
    );
    return { ...current, passkeys };
  });
  return isRefused ? undefined : person;
}

/** A counter that stands still, or goes back, is that of a copied authenticator; those without a counter say 0. */
function hasGrown(before: number, now: number): boolean {
  return now > before || (now === 0 && before === 0);
}
