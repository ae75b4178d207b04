import { announce } from '../announce.js';
import { Card, focusOn } from '../parts/card.js';
import { Loaded } from '../parts/loaded.js';
import { change } from '../server.js';
import type { Overview, Passkey } from '../server-types.js';
import { useData } from '../use-data.js';
import { canMakePasskeys } from './make-passkey.js';
import { NewPasskeyForm } from './new-passkey-form.js';
import { PasskeyRow } from './passkey-row.js';
import { SignInAgain } from './sign-in-again.js';

interface Passkeys {
  readonly passkeys: readonly Passkey[];
  readonly can_be_used: boolean;
}

interface PasskeyListProps {
  readonly overview: Overview;
  /** Reads the overview again, which says whether there are any. */
  readonly reload: () => Promise<void>;
}

/** Keys in devices that sign the person in. */
export function PasskeyList({ overview, reload }: PasskeyListProps) {
  const data = useData<Passkeys>('/passkeys');
  const show = async (said: string): Promise<void> => {
    await Promise.all([data.reload(), reload()]);
    announce(said);
    focusOn('passkeys');
  };
  return (
    <Card
      id="passkeys"
      title="Passkeys"
      note="A passkey is kept by a device or a password manager. It signs you in without an e-mail address and a password."
    >
      <Loaded data={data} what="passkeys">
        {({ passkeys, can_be_used: canBeUsed }) => (
          <>
            {passkeys.length === 0 ? (
              <p class="empty">You have none.</p>
            ) : (
              <ul class="rows">
                {passkeys.map((passkey) => (
                  <PasskeyRow
                    key={passkey.id}
                    shown={passkey}
                    rename={async (name) => {
                      await change('/passkeys/rename', { id: passkey.id, name });
                      await show(`The passkey is called ${name} now.`);
                    }}
                    removed={() => show('The passkey is removed.')}
                  />
                ))}
              </ul>
            )}
            <Adding
              why={whyNone(canBeUsed)}
              overview={overview}
              added={({ name }) => show(`The passkey ${name} is added. You can sign in with it from now on.`)}
            />
          </>
        )}
      </Loaded>
    </Card>
  );
}

interface AddingProps {
  /** Why none can be added at all. */
  readonly why: string | undefined;
  readonly overview: Overview;
  readonly added: (passkey: Passkey) => Promise<void>;
}

function Adding({ why, overview, added }: AddingProps) {
  if (why !== undefined) return <p class="quiet">{why}</p>;
  const { person, session } = overview;
  // Their password alone must not lead to a passkey, and so to what operators can do.
  if (person.is_operator && session.method !== 'passkey')
    return <p class="quiet">As an operator you add a passkey after signing in with one.</p>;
  // Whoever finds a browser open must not be able to come back later.
  return overview.session.is_recent ? (
    <NewPasskeyForm added={added} />
  ) : (
    <SignInAgain overview={overview} toDo="add one" />
  );
}

function whyNone(canBeUsed: boolean): string | undefined {
  if (!canBeUsed) return 'Browsers keep passkeys for a domain name with TLS, or for localhost: not for this address.';
  return canMakePasskeys() ? undefined : 'This browser cannot make passkeys.';
}
