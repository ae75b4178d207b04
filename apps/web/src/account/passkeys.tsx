import { dateText, textOf } from '../format.js';
import { ask } from '../parts/ask.js';
import { Button } from '../parts/buttons.js';
import { Field, Form, TextField } from '../parts/form.js';
import { Card, Loaded, type PageProps } from '../parts/parts.js';
import { UsedOn } from '../parts/times.js';
import type { Overview, Passkey, PasskeyRequest } from '../server-types.js';
import { reloadOverview } from '../session.js';
import { change, Explained } from '../server.js';
import { afterChange, useAction, useData } from '../use-data.js';
import { ItemOfList, RemoveButton, SignInAgain } from './ways-to-sign-in.js';

interface Passkeys {
  readonly passkeys: readonly Passkey[];
  /** Whether browsers keep passkeys for the address of the service. */
  readonly can_be_used: boolean;
}

/** Keys in devices that sign the person in. */
export function PasskeyList({ overview }: PageProps) {
  const data = useData<Passkeys>('/passkeys');
  const show = afterChange(async () => void (await Promise.all([data.reload(), reloadOverview()])), 'passkeys');
  const rename = ({ id, name }: Passkey): void =>
    ask({
      title: `Rename ${name}`,
      fields: <TextField label="New name" name="name" defaultValue={name} required maxLength={100} />,
      isHarmless: true,
      doIt: 'Save',
      busyText: 'Saving…',
      act: async (form) => {
        const wanted = textOf(form, 'name').trim();
        await change('/passkeys/rename', { id, name: wanted });
        return wanted;
      },
      done: (wanted) => show(`The passkey is called ${wanted} now.`),
    });
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
                  <ItemOfList
                    key={passkey.id}
                    icon="key-round"
                    name={passkey.name}
                    note={
                      <>
                        Added {dateText(passkey.created_at)} · last used <UsedOn day={passkey.last_used_on} isInText />
                      </>
                    }
                  >
                    <Button isSmall label={`Rename ${passkey.name}`} onClick={() => rename(passkey)}>
                      Rename
                    </Button>
                    <RemoveButton
                      what={passkey.name}
                      title={`Remove ${passkey.name}?`}
                      text="You can no longer sign in with it. Make sure that you have another way to sign in, and remove it from your device as well."
                      doIt="Remove passkey"
                      act={() => change('/passkeys/remove', { id: passkey.id })}
                      done={() => show('The passkey is removed.')}
                    />
                  </ItemOfList>
                ))}
              </ul>
            )}
            <div class="body stack-s">
              {passkeys.length === 0 ? <p class="small muted">No passkeys yet.</p> : null}
              <Adding
                overview={overview}
                canBeUsed={canBeUsed}
                hasSome={passkeys.length > 0}
                added={({ name }) => show(`The passkey ${name} is added. You can sign in with it from now on.`)}
              />
            </div>
          </>
        )}
      </Loaded>
    </Card>
  );
}

interface AddingProps extends PageProps {
  canBeUsed: boolean;
  /** Whether the person has passkeys that they may want to remove. */
  hasSome: boolean;
  added: (passkey: Passkey) => Promise<void>;
}

/** The form that adds a passkey, or why there is none, and the way to a sign-in that allows the changes of this card. */
function Adding({ overview, canBeUsed, hasSome, added }: AddingProps) {
  const doing = useAction();
  const whyNone = whyNoneCanBeAdded(canBeUsed, overview);
  if (whyNone !== undefined || !overview.session.is_recent)
    return (
      <>
        {whyNone === undefined ? null : <p class="small muted">{whyNone}</p>}
        <SignInAgain acts={[whyNone === undefined && 'add', hasSome && 'remove']} />
      </>
    );
  const add = async (fields: FormData, form: HTMLFormElement): Promise<void> => {
    await added(await makePasskey(textOf(fields, 'name').trim()));
    form.reset();
  };
  return (
    <Form doing={doing} class="stack-s" submit={add} footer={null}>
      <Field label="Name of a new passkey" pointer="/name">
        {(control) => (
          <div class="row">
            <input {...control} class="input" name="name" placeholder="laptop" required maxLength={100} />
            <Button type="submit" isBusy={doing.isBusy}>
              Add passkey
            </Button>
          </div>
        )}
      </Field>
    </Form>
  );
}

function whyNoneCanBeAdded(canBeUsed: boolean, { person, session }: Overview): string | undefined {
  if (!canBeUsed && location.hostname === '127.0.0.1')
    return `Browsers keep passkeys for localhost, not for this address: open ${location.origin.replace('127.0.0.1', 'localhost')} and sign in there.`;
  if (!canBeUsed) return 'Browsers keep passkeys for a domain name with TLS, or for localhost: not for this address.';
  if (!('PublicKeyCredential' in window)) return 'This browser can’t create passkeys.';
  // Their password alone must not lead to a passkey, and so to what operators can do.
  return person.is_operator && session.method !== 'passkey'
    ? 'As an operator you add a passkey after signing in with one.'
    : undefined;
}

/** Makes the browser create a passkey, and adds it under this name. Throws `Explained`, also if the person cancels. */
async function makePasskey(name: string): Promise<Passkey> {
  const request = await change<PasskeyRequest>('/passkeys/begin');
  const made = await navigator.credentials.create({ publicKey: optionsOf(request) }).catch((error: unknown) => {
    const isKnown = error instanceof DOMException && error.name === 'InvalidStateError';
    throw isKnown ? new Explained('This device has a passkey for your account already.', '/name') : NOT_MADE;
  });
  if (made === null) throw NOT_MADE;
  const { response } = made as PublicKeyCredential & { readonly response: AuthenticatorAttestationResponse };
  const { passkey } = await change<{ readonly passkey: Passkey }>('/passkeys', {
    name,
    challenge: request.challenge,
    client_data: base64UrlOf(response.clientDataJSON),
    attestation_object: base64UrlOf(response.attestationObject),
    transports: response.getTransports(),
  });
  return passkey;
}

const NOT_MADE = new Explained('No passkey was created. Try again.', '/name');

function optionsOf(request: PasskeyRequest): PublicKeyCredentialCreationOptions {
  const { user_name: name, algorithms, known } = request;
  return {
    challenge: bytesOf(request.challenge),
    rp: { id: request.rp_id, name: 'Darkroom' },
    user: { id: bytesOf(request.user_handle), name, displayName: name },
    pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
    excludeCredentials: known.map(({ id, transports }) => ({
      type: 'public-key',
      id: bytesOf(id),
      transports: [...transports] as AuthenticatorTransport[],
    })),
    // It is found without an e-mail address, and signs in by itself.
    authenticatorSelection: { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
    attestation: 'none',
    timeout: request.timeout_ms,
  };
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
