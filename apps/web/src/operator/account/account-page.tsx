import { useEffect, useState } from 'preact/hooks';
import { announce } from '../../announce.js';
import { dateText, dayText, numberText, textOf, timeText } from '../../format.js';
import { Copyable } from '../../parts/buttons.js';
import { Card, Fact, focusOn, Loaded, PageLink } from '../../parts/parts.js';
import { change } from '../../server.js';
import { useData } from '../../use-data.js';
import { ActButton } from '../act-button.js';
import {
  type Account,
  type AppStorage,
  bytesText,
  counted,
  type Entry,
  type Key,
  type Person,
  type Storage,
  type WithLink,
} from '../server-types.js';
import { hrefOfPlace, MoreButton, usePages } from '../use-pages.js';
import { BooksCard, CreditsForm, Ledger } from './books-card.js';

/** The storage that the account uses, and its Apps with the storage of each. */
function AppList({ path }: { readonly path: string }) {
  const storage = usePages<'apps', AppStorage, Storage>(`${path}/storage`, 'apps');
  return (
    <Card id="apps" title="Apps and storage">
      <Loaded data={storage} what="Apps">
        {({ uncharged_content: uncharged, limits }) => (
          <>
            <p>
              {`${bytesText(uncharged.bytes)} of ${bytesText(limits.uncharged_content_bytes)} are kept for ${counted(uncharged.generations, 'generation')} that cost nothing.`}
            </p>
            {storage.items.length === 0 ? (
              <p class="empty">The account has no Apps.</p>
            ) : (
              <ul class="rows">
                {storage.items.map((app) => (
                  <AppRow key={app.app_id} app={app} limits={limits} />
                ))}
              </ul>
            )}
            <MoreButton pages={storage} what="Apps" />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function AppRow({ app, limits }: { readonly app: AppStorage; readonly limits: Storage['limits'] }) {
  return (
    <li>
      <div class="row-head">
        <h3>{app.name}</h3>
      </div>
      <dl class="facts">
        <Fact name="Uploads" text={`${numberText(app.uploads)} of ${numberText(limits.uploads)}`} />
        <Fact
          name="Unfinished"
          text={`${numberText(app.unfinished_uploads)} of ${numberText(limits.unfinished_uploads)}`}
        />
        <Fact name="Their files" text={`${bytesText(app.upload_bytes)} of ${bytesText(limits.upload_bytes)}`} />
        <Fact name="App id" text={app.app_id} />
      </dl>
    </li>
  );
}

interface KeyListProps {
  readonly path: string;
  readonly currency: string;
  readonly refused: () => void;
}

/** The keys of the account, without their secrets. */
export function KeyList({ path, currency, refused }: KeyListProps) {
  const keys = usePages<'keys', Key>(`${path}/keys`, 'keys');
  const revoked = async ({ name }: Key): Promise<void> => {
    await keys.reload();
    announce(`The key ${name} is revoked.`);
    focusOn('keys');
  };
  return (
    <Card id="keys" title="API keys">
      <Loaded data={keys} what="keys">
        {() =>
          keys.items.length === 0 ? (
            <p class="empty">The account has no keys.</p>
          ) : (
            <>
              <ul class="rows">
                {keys.items.map((key) => (
                  <KeyRow key={key.key_id} shown={key} currency={currency} revoked={revoked} refused={refused} />
                ))}
              </ul>
              <MoreButton pages={keys} what="keys" />
            </>
          )
        }
      </Loaded>
    </Card>
  );
}

interface KeyRowProps extends Omit<KeyListProps, 'path'> {
  readonly shown: Key;
  readonly revoked: (key: Key) => Promise<void>;
}

function KeyRow({ shown: key, currency, revoked, refused }: KeyRowProps) {
  return (
    <li class={key.revoked_at === undefined ? undefined : 'over'}>
      <div class="row-head">
        <h3>
          {key.name}
          {key.revoked_at === undefined ? null : <span class="badge">{`revoked ${dateText(key.revoked_at)}`}</span>}
        </h3>
        {key.revoked_at === undefined ? (
          <ActButton
            label="Revoke"
            fullLabel={`Revoke the key ${key.name}`}
            title={`Revoke the key “${key.name}”?`}
            consequence="Programs that use it are refused within seconds. This cannot be undone."
            doIt="Revoke the key"
            isDangerous
            act={() => change(`/operator/keys/${key.key_id}/revoke`)}
            done={() => revoked(key)}
            refused={refused}
          />
        ) : null}
      </div>
      <dl class="facts">
        <Fact name="Made" text={dateText(key.created_at)} />
        <Fact name="Last used" text={key.last_used_on === undefined ? 'never' : dayText(key.last_used_on)} />
        <Fact name="Expires" text={key.expires_at === undefined ? 'never' : dateText(key.expires_at)} />
        {key.monthly_cap === undefined ? null : (
          <Fact name="A month" text={`at most ${numberText(key.monthly_cap)} ${currency}`} />
        )}
        <Fact name="App" text={key.app_id} />
      </dl>
    </li>
  );
}

interface PeopleCardProps {
  readonly path: string;
  readonly self: string;
  readonly refused: () => void;
}

/** The people who sign in for the account. A link is shown once, and is stored only in this component. */
function PeopleCard({ path, self, refused }: PeopleCardProps) {
  const people = usePages<'people', Person>(`${path}/people`, 'people');
  const [link, setLink] = useState<WithLink>();
  useEffect(() => {
    // A browser may keep the page and show it again when the operator returns.
    const forget = (): void => setLink(undefined);
    window.addEventListener('pagehide', forget);
    return () => window.removeEventListener('pagehide', forget);
  }, []);
  const done = async (sentence: string, made?: WithLink): Promise<void> => {
    setLink(made?.sign_in_link === undefined ? undefined : made);
    await people.reload();
    announce(sentence);
    focusOn('people');
  };
  return (
    <Card id="people" title="People" note="Who signs in for the account. All of them have equal rights in it.">
      {link === undefined ? null : <Link made={link} forget={() => setLink(undefined)} />}
      <Loaded data={people} what="people">
        {() => (
          <>
            {people.items.length === 0 ? (
              <p class="empty">Nobody signs in for this account.</p>
            ) : (
              <ul class="rows">
                {people.items.map((person) => (
                  <PersonRow key={person.person_id} person={person} self={self} done={done} refused={refused} />
                ))}
              </ul>
            )}
            <div class="actions below">
              <MoreButton pages={people} what="people" />
              <NewPerson path={path} done={done} refused={refused} />
            </div>
          </>
        )}
      </Loaded>
    </Card>
  );
}

type Done = (sentence: string, made?: WithLink) => Promise<void>;

function Link({ made, forget }: { readonly made: WithLink; readonly forget: () => void }) {
  const { person, sign_in_link: link = '', sign_in_link_expires_at: until = '' } = made;
  return (
    <div class="secret notice">
      <p>
        <strong>{`The link for ${person.email} is shown this once.`}</strong>
        {` It signs in once whoever has it, until ${timeText(until)}. Send it as you would send a password.`}
      </p>
      <Copyable text={link} what="the sign-in link" />
      <button type="button" class="small" onClick={forget}>
        I have copied it
      </button>
    </div>
  );
}

function NewPerson({ path, done, refused }: Pick<PeopleCardProps, 'path' | 'refused'> & { readonly done: Done }) {
  return (
    <ActButton
      label="New person"
      title="New person"
      consequence="You get a link that signs them in once, to send to them."
      doIt="Create person"
      act={(form) => change<WithLink>(`${path}/people`, { email: textOf(form, 'email') })}
      done={(made) => done(`${made.person.email} can sign in. Copy the link now.`, made)}
      refused={refused}
    >
      <label>
        E-mail address
        <input type="email" name="email" required maxLength={254} />
      </label>
    </ActButton>
  );
}

interface PersonRowProps {
  readonly person: Person;
  readonly self: string;
  readonly done: Done;
  readonly refused: () => void;
}

function PersonRow({ person, self, done, refused }: PersonRowProps) {
  const isDisabled = person.disabled_at !== undefined;
  return (
    <li class={isDisabled ? 'over' : undefined}>
      <div class="row-head">
        <h3>
          {person.email}
          {person.operator_since === undefined ? null : <span class="badge">operator</span>}
          {isDisabled ? <span class="badge">disabled</span> : null}
        </h3>
        {person.person_id === self ? (
          <span class="quiet">This is you.</span>
        ) : (
          <div class="actions">
            <Reset person={person} done={done} refused={refused} />
            {isDisabled ? (
              <Enable person={person} done={done} refused={refused} />
            ) : (
              <Disable person={person} done={done} refused={refused} />
            )}
          </div>
        )}
      </div>
      <dl class="facts">
        <Fact name="Created" text={dateText(person.created_at)} />
        <Fact
          name="Last sign-in"
          text={person.last_sign_in_on === undefined ? 'never' : dayText(person.last_sign_in_on)}
        />
        <Fact name="Signs in with" text={methodsText(person)} />
      </dl>
    </li>
  );
}

function methodsText({ has_password: hasPassword, passkeys }: Person): string {
  const methods = [...(hasPassword ? ['a password'] : []), ...(passkeys === 0 ? [] : [counted(passkeys, 'passkey')])];
  return methods.length === 0 ? 'a link, or an outside identity' : methods.join(', ');
}

type ActProps = Omit<PersonRowProps, 'self'>;

function Reset({ person, done, refused }: ActProps) {
  const { person_id: id, email } = person;
  const operator = person.operator_since === undefined ? '' : ' They are no operator afterwards, either.';
  return (
    <ActButton
      label="Reset"
      fullLabel={`Reset the sign-in of ${email}`}
      title={`Reset the sign-in of ${email}?`}
      consequence={`Their password, passkeys and outside identities are gone, and they are signed out everywhere.${operator} You get a link that signs them in once.`}
      doIt="Reset it"
      isDangerous
      act={() => change<WithLink>(`/operator/people/${id}/reset`)}
      done={(made) => done(`The sign-in of ${email} is reset.`, made)}
      refused={refused}
    />
  );
}

function Disable({ person: { person_id: id, email }, done, refused }: ActProps) {
  return (
    <ActButton
      label="Disable"
      fullLabel={`Disable ${email}`}
      title={`Disable ${email}?`}
      consequence="They cannot sign in, and their sessions and connected programs end within seconds. API keys are the account’s, and stay."
      doIt="Disable them"
      isDangerous
      act={() => change(`/operator/people/${id}/disable`)}
      done={() => done(`${email} may not sign in any more.`)}
      refused={refused}
    />
  );
}

function Enable({ person: { person_id: id, email }, done, refused }: ActProps) {
  return (
    <ActButton
      label="Enable"
      fullLabel={`Enable ${email}`}
      title={`Enable ${email}?`}
      consequence="They can sign in again, as before."
      doIt="Enable them"
      act={() => change(`/operator/people/${id}/enable`)}
      done={() => done(`${email} may sign in.`)}
      refused={refused}
    />
  );
}

interface AccountPageProps {
  readonly id: string;
  /** The operator's own person. */
  readonly self: string;
  readonly refused: () => void;
}

/** One account: its books, ledger, people, keys and Apps. */
export function AccountPage({ id, self, refused }: AccountPageProps) {
  const path = `/operator/accounts/${encodeURIComponent(id)}`;
  const account = useData<{ readonly account: Account }>(path);
  const entries = usePages<'entries', Entry>(`${path}/entries`, 'entries');
  const changed = async (): Promise<void> => {
    await Promise.all([account.reload(), entries.reload()]);
  };
  return (
    <>
      <p class="back">
        <PageLink href={hrefOfPlace({ name: 'accounts' })}>All accounts</PageLink>
      </p>
      <Loaded data={account} what="the account">
        {({ account: shown }) => (
          <>
            <BooksCard account={shown} path={path} changed={account.reload} refused={refused} />
            <CreditsForm account={shown} path={path} changed={changed} refused={refused} />
            <Ledger entries={entries} currency={shown.currency} />
            <PeopleCard path={path} self={self} refused={refused} />
            <KeyList path={path} currency={shown.currency} refused={refused} />
            <AppList path={path} />
          </>
        )}
      </Loaded>
    </>
  );
}
