import { useId, useRef, useState } from 'preact/hooks';
import { KeyRound } from 'lucide-preact';
import { dateText, textOf } from '../format.js';
import { Button, ConfirmButton } from '../parts/buttons.js';
import { Field } from '../parts/form.js';
import { Icon } from '../parts/icon.js';
import { Card, Fault, Loaded, type PageProps } from '../parts/parts.js';
import { UsedOn } from '../parts/times.js';
import type { Overview, Passkey, PasskeyRequest } from '../server-types.js';
import { reloadOverview } from '../session.js';
import { change, codeOf, Explained } from '../server.js';
import { type Action, afterChange, focusOnFaulty, useAction, useData } from '../use-data.js';

interface Passkeys {
  readonly passkeys: readonly Passkey[];
  readonly can_be_used: boolean;
}

/** Keys in devices that sign the person in. */
export function PasskeyList({ overview }: PageProps) {
  const data = useData<Passkeys>('/passkeys');
  const show = afterChange(async () => void (await Promise.all([data.reload(), reloadOverview()])), 'passkeys');
  return (
    <Card
      id="passkeys"
      title="Passkeys"
      note="In a device or a password manager. They sign you in without a password."
      isFlush
    >
      <Loaded data={data} what="passkeys">
        {({ passkeys, can_be_used: canBeUsed }) => (
          <>
            {passkeys.length === 0 ? null : (
              <ul class="list">
                {passkeys.map((passkey) => (
                  <PasskeyRow key={passkey.id} shown={passkey} overview={overview} show={show} />
                ))}
              </ul>
            )}
            <div class="body stack-s">
              {passkeys.length === 0 ? <p class="small muted">No passkeys yet.</p> : null}
              <Adding
                canBeUsed={canBeUsed}
                hasSome={passkeys.length > 0}
                overview={overview}
                added={({ name }) => show(`The passkey ${name} is added. You can sign in with it from now on.`)}
              />
            </div>
          </>
        )}
      </Loaded>
    </Card>
  );
}

interface AddingProps {
  /** Whether browsers keep passkeys for the address of the service. */
  readonly canBeUsed: boolean;
  /** Whether the person has passkeys that they may want to remove. */
  readonly hasSome: boolean;
  readonly overview: Overview;
  readonly added: (passkey: Passkey) => Promise<void>;
}

/** The form that adds a passkey, or why there is none, and the way to a sign-in that allows the changes of this card. */
function Adding({ canBeUsed, hasSome, overview, added }: AddingProps) {
  const whyNone = whyNoneCanBeAdded(canBeUsed, overview);
  const { is_recent: isRecent } = overview.session;
  if (whyNone === undefined && isRecent)
    return (
      <NameForm
        label="Name of a new passkey"
        name=""
        placeholder="laptop"
        doIt="Add passkey"
        submit={async (name) => added(await makePasskey(name))}
      />
    );
  const acts = [...(whyNone === undefined ? ['add'] : []), ...(hasSome ? ['remove'] : [])];
  return (
    <>
      {whyNone === undefined ? null : <p class="small muted">{whyNone}</p>}
      {isRecent || acts.length === 0 ? null : <SignInAgain overview={overview} toDo={`${acts.join(' or ')} one`} />}
    </>
  );
}

function whyNoneCanBeAdded(canBeUsed: boolean, { person, session }: Overview): string | undefined {
  if (!canBeUsed && location.hostname === '127.0.0.1')
    return `Browsers keep passkeys for localhost, not for this address: open ${location.origin.replace('127.0.0.1', 'localhost')} and sign in there.`;
  if (!canBeUsed) return 'Browsers keep passkeys for a domain name with TLS, or for localhost: not for this address.';
  if (!canMakePasskeys()) return 'This browser can’t create passkeys.';
  // Their password alone must not lead to a passkey, and so to what operators can do.
  return person.is_operator && session.method !== 'passkey'
    ? 'As an operator you add a passkey after signing in with one.'
    : undefined;
}

/** Whether this browser can make passkeys at all. */
function canMakePasskeys(): boolean {
  return 'PublicKeyCredential' in window;
}

/**
 * Makes the browser create a passkey, and adds it under this name. Throws `Explained`, also if the person
 * cancels.
 */
async function makePasskey(name: string): Promise<Passkey> {
  const request = await change<PasskeyRequest>('/passkeys/begin');
  const { response } = await create(request);
  const { clientDataJSON, attestationObject } = response;
  const { passkey } = await change<{ readonly passkey: Passkey }>('/passkeys', {
    name,
    challenge: request.challenge,
    client_data: base64UrlOf(clientDataJSON),
    attestation_object: base64UrlOf(attestationObject),
    transports: response.getTransports(),
  });
  return passkey;
}

async function create({
  challenge,
  rp_id: id,
  user_handle: userHandle,
  user_name: name,
  algorithms,
  known,
  timeout_ms: timeout,
}: PasskeyRequest): Promise<PublicKeyCredential & { readonly response: AuthenticatorAttestationResponse }> {
  const made = await navigator.credentials
    .create({
      publicKey: {
        challenge: bytesOf(challenge),
        rp: { id, name: 'Darkroom' },
        user: { id: bytesOf(userHandle), name, displayName: name },
        pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: known.map((one) => ({
          type: 'public-key',
          id: bytesOf(one.id),
          transports: [...one.transports] as AuthenticatorTransport[],
        })),
        // It is found without an e-mail address, and signs in by itself.
        authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
        attestation: 'none',
        timeout,
      },
    })
    .catch((error: unknown) => {
      throw new Explained(sentenceFor(error));
    });
  if (made === null) throw new Explained(NOT_MADE);
  return made as PublicKeyCredential & { readonly response: AuthenticatorAttestationResponse };
}

const NOT_MADE = 'No passkey was created. Try again.';

function sentenceFor(error: unknown): string {
  return error instanceof DOMException && error.name === 'InvalidStateError'
    ? 'This device has a passkey for your account already.'
    : NOT_MADE;
}

/** Base64url. */
function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (character) => character.charCodeAt(0));
}

function base64UrlOf(bytes: ArrayBuffer): string {
  const plain = String.fromCharCode(...new Uint8Array(bytes));
  return btoa(plain).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

interface NameFormProps {
  readonly label: string;
  readonly name: string;
  readonly placeholder?: string;
  /** The label of the button. */
  readonly doIt: string;
  readonly submit: (name: string) => Promise<void>;
}

/** Asks for a name, and says why it was not taken. */
function NameForm({ label, name, placeholder = '', doIt, submit }: NameFormProps) {
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, fault, setFault, run } = useAction();
  const send = async (): Promise<void> => {
    const worked = await run(async () => {
      await submit(textOf(new FormData(form.current ?? undefined), 'name').trim());
      form.current?.reset();
    });
    if (!worked) focusOnFaulty(form.current);
  };
  return (
    <form
      ref={form}
      class="stack-s"
      onInput={() => setFault(undefined)}
      onSubmit={(event) => {
        event.preventDefault();
        void send();
      }}
    >
      <Field label={label} error={fault}>
        {(control) => (
          <div class="row">
            <input
              {...control}
              class="input"
              name="name"
              defaultValue={name}
              placeholder={placeholder}
              required
              maxLength={100}
            />
            <Button type="submit" isBusy={isBusy}>
              {doIt}
            </Button>
          </div>
        )}
      </Field>
    </form>
  );
}

interface PasskeyRowProps {
  readonly shown: Passkey;
  readonly overview: Overview;
  /** Shows what has changed, with a sentence. */
  readonly show: (said: string) => Promise<void>;
}

function PasskeyRow({ shown, overview, show }: PasskeyRowProps) {
  const [isRenaming, setRenaming] = useState(false);
  const id = useId();
  const rename = async (name: string): Promise<void> => {
    await change('/passkeys/rename', { id: shown.id, name });
    await show(`The passkey is called ${name} now.`);
    setRenaming(false);
  };
  return (
    <li>
      <Icon of={KeyRound} />
      <div class="grow">
        <h3 class="named">{shown.name}</h3>
        <small>
          Added {dateText(shown.created_at)} · last used <UsedOn day={shown.last_used_on} isInText />
        </small>
      </div>
      <div class="row">
        <button
          type="button"
          class="button small"
          aria-label={`Rename ${shown.name}`}
          aria-expanded={isRenaming}
          aria-controls={id}
          onClick={() => setRenaming(!isRenaming)}
        >
          Rename
        </button>
        <RemoveButton
          overview={overview}
          what={shown.name}
          question={`Remove ${shown.name}?`}
          consequence="You can no longer sign in with it. Make sure that you have another way to sign in, and remove it from your device as well."
          doIt="Remove passkey"
          action={() => change('/passkeys/remove', { id: shown.id })}
          done={() => show('The passkey is removed.')}
        />
      </div>
      <div id={id} class="whole" hidden={!isRenaming}>
        {isRenaming ? <NameForm label="New name" name={shown.name} doIt="Save" submit={rename} /> : null}
      </div>
    </li>
  );
}

interface RemoveButtonProps {
  readonly overview: Overview;
  /** The way to sign in, as in "Remove laptop". */
  readonly what: string;
  readonly question: string;
  readonly consequence: string;
  readonly doIt: string;
  readonly action: () => Promise<void>;
  readonly done: () => Promise<void>;
}

/**
 * Removes a way to sign in. There is no button after 15 minutes; in a page that was left open, the dialog offers another
 * sign-in once the service has refused.
 */
export function RemoveButton({ overview, what, ...props }: RemoveButtonProps) {
  if (!overview.session.is_recent) return null;
  return (
    <ConfirmButton {...props} label="Remove" fullLabel={`Remove ${what}`} note={(failed) => noteOf(failed, overview)} />
  );
}

/** Why it was not removed, and the way to another sign-in where that helps. */
function noteOf({ fault, error }: Action, overview: Overview) {
  if (codeOf(error) !== 'RECENT_SIGN_IN_REQUIRED') return <Fault text={fault} />;
  return (
    <div role="alert">
      <SignInAgain overview={overview} toDo="remove it" />
    </div>
  );
}

interface SignInAgainProps {
  readonly overview: Overview;
  /** The purpose, as in "To add one". */
  readonly toDo: string;
}

/** An action that requires a sign-in of the last 15 minutes begins with another sign-in. */
export function SignInAgain({ overview: { person, session }, toDo }: SignInAgainProps) {
  // A person who signed in by a single-use link could not do so again.
  if (session.method === 'link' && !person.has_password && !person.has_passkey)
    return (
      <p class="small muted">{`To ${toDo}, ask the operator for another sign-in link, and use it within 15 minutes.`}</p>
    );
  // A provider that does not say when it asked proves no recent sign-in, however new the session is.
  const how =
    session.method === 'provider'
      ? ' with a password, a passkey or a link from the operator, or once your provider has asked who you are.'
      : ': your last sign-in was more than 15 minutes ago.';
  return (
    <form method="post" action="/sign-out?return=/console/account" class="again">
      <p class="small muted">{`To ${toDo}, sign in again${how}`}</p>
      <button type="submit" class="button small">
        Sign in again
      </button>
    </form>
  );
}
