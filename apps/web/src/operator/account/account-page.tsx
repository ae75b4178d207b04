import { dateText, dayText, numberText, textOf, timeText } from '../../format.js';
import { Copyable, MoreButton } from '../../parts/buttons.js';
import { Card, Loaded, Row, Rows } from '../../parts/parts.js';
import { change } from '../../server.js';
import { afterChange, useData, usePages, useShownOnce } from '../../use-data.js';
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
import { linkTo } from '../places.js';
import { BooksCard, CreditsForm, Ledger } from './books-card.js';
import { ErasePerson, ErasureCard } from './erasure-card.js';

interface AccountPageProps {
  readonly id: string;
  /** The operator's own person. */
  readonly self: string;
}

/** One account: its books, ledger, people, keys and Apps. */
export function AccountPage({ id, self }: AccountPageProps) {
  const path = `/operator/accounts/${encodeURIComponent(id)}`;
  const account = useData<{ readonly account: Account }>(path);
  const entries = usePages<'entries', Entry>(`${path}/entries`, 'entries');
  const changed = async (): Promise<void> => {
    await Promise.all([account.reload(), entries.reload()]);
  };
  return (
    <>
      <p class="back">{linkTo('operator-accounts', 'All accounts')}</p>
      <Loaded data={account} what="the account">
        {({ account: shown }) => (
          <>
            <BooksCard account={shown} path={path} changed={account.reload} />
            {shown.erased_at === undefined ? <CreditsForm account={shown} path={path} changed={changed} /> : null}
            <Ledger entries={entries} currency={shown.currency} />
            <PeopleCard path={path} self={self} />
            <KeyList path={path} currency={shown.currency} />
            <AppList path={path} />
            <ErasureCard account={shown} path={path} changed={changed} />
          </>
        )}
      </Loaded>
    </>
  );
}

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
            <Rows items={storage.items} empty="The account has no Apps.">
              {(app) => <AppRow key={app.app_id} app={app} limits={limits} />}
            </Rows>
            <MoreButton pages={storage} what="Apps" />
          </>
        )}
      </Loaded>
    </Card>
  );
}

function AppRow({ app, limits }: { readonly app: AppStorage; readonly limits: Storage['limits'] }) {
  const unfinished = `${numberText(app.unfinished_uploads)} of ${numberText(limits.unfinished_uploads)}`;
  return (
    <Row
      title={app.name}
      facts={[
        ['Uploads', `${numberText(app.uploads)} of ${numberText(limits.uploads)}`],
        ['Unfinished', unfinished],
        ['Their files', `${bytesText(app.upload_bytes)} of ${bytesText(limits.upload_bytes)}`],
        ['App id', app.app_id],
      ]}
    />
  );
}

/** The keys of the account, without their secrets. */
function KeyList({ path, currency }: { readonly path: string; readonly currency: string }) {
  const keys = usePages<'keys', Key>(`${path}/keys`, 'keys');
  const said = afterChange(keys.reload, 'keys');
  return (
    <Card id="keys" title="API keys">
      <Loaded data={keys} what="keys">
        {() => (
          <>
            <Rows items={keys.items} empty="The account has no keys.">
              {(key) => <KeyRow key={key.key_id} shown={key} currency={currency} said={said} />}
            </Rows>
            <MoreButton pages={keys} what="keys" />
          </>
        )}
      </Loaded>
    </Card>
  );
}

interface KeyRowProps {
  readonly shown: Key;
  readonly currency: string;
  readonly said: Said;
}

function KeyRow({ shown: key, currency, said }: KeyRowProps) {
  const { revoked_at: revoked, monthly_cap: cap } = key;
  return (
    <Row
      title={key.name}
      badge={revoked && `revoked ${dateText(revoked)}`}
      isOver={revoked !== undefined}
      actions={
        revoked === undefined ? (
          <ActButton
            label="Revoke"
            fullLabel={`Revoke the key ${key.name}`}
            question={`Revoke the key “${key.name}”?`}
            consequence="Programs that use it are refused within seconds. This cannot be undone."
            doIt="Revoke the key"
            action={() => change(`/operator/keys/${key.key_id}/revoke`)}
            done={() => said(`The key ${key.name} is revoked.`)}
          />
        ) : null
      }
      facts={[
        ['Made', dateText(key.created_at)],
        ['Last used', key.last_used_on === undefined ? 'never' : dayText(key.last_used_on)],
        ['Expires', key.expires_at === undefined ? 'never' : dateText(key.expires_at)],
        ['A month', cap === undefined ? undefined : `at most ${numberText(cap)} ${currency}`],
        ['App', key.app_id],
      ]}
    />
  );
}

/** Loads what has changed, and says a sentence. */
type Said = (sentence: string) => Promise<void>;
/** The same, and shows the link that the change has made. */
type Done = (sentence: string, made?: WithLink) => Promise<void>;

/** The people who sign in for the account. A link is shown once, and is stored only in this component. */
function PeopleCard({ path, self }: { readonly path: string; readonly self: string }) {
  const people = usePages<'people', Person>(`${path}/people`, 'people');
  const [link, setLink] = useShownOnce<WithLink>('people');
  const said = afterChange(people.reload, 'people');
  const done: Done = async (sentence, made) => {
    setLink(made?.sign_in_link === undefined ? undefined : made);
    await said(sentence);
  };
  return (
    <Card id="people" title="People" note="Who signs in for the account. All of them have equal rights in it.">
      {link === undefined ? null : <Link made={link} forget={() => setLink(undefined)} />}
      <Loaded data={people} what="people">
        {() => (
          <>
            <Rows items={people.items} empty="Nobody signs in for this account.">
              {(person) => <PersonRow key={person.person_id} person={person} self={self} done={done} />}
            </Rows>
            <div class="row wrap">
              <MoreButton pages={people} what="people" />
              <NewPerson path={path} done={done} />
            </div>
          </>
        )}
      </Loaded>
    </Card>
  );
}

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

function NewPerson({ path, done }: { readonly path: string; readonly done: Done }) {
  return (
    <ActButton
      label="New person"
      isHarmless
      question="New person"
      consequence="You get a link that signs them in once, to send to them."
      doIt="Create person"
      action={(form) => change<WithLink>(`${path}/people`, { email: textOf(form, 'email') })}
      done={(made) => done(`${made.person.email} can sign in. Copy the link now.`, made)}
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
}

function PersonRow({ person, self, done }: PersonRowProps) {
  const isDisabled = person.disabled_at !== undefined;
  return (
    <Row
      title={
        <>
          {person.email}
          {person.operator_since === undefined ? null : <span class="badge">operator</span>}
        </>
      }
      badge={isDisabled ? 'disabled' : undefined}
      isOver={isDisabled}
      actions={
        person.person_id === self ? (
          <span class="small muted">This is you.</span>
        ) : (
          <div class="row wrap">
            <Reset person={person} done={done} />
            {isDisabled ? <Enable person={person} done={done} /> : <Disable person={person} done={done} />}
            {person.operator_since === undefined ? <ErasePerson person={person} done={done} /> : null}
          </div>
        )
      }
      facts={[
        ['Created', dateText(person.created_at)],
        ['Last sign-in', person.last_sign_in_on === undefined ? 'never' : dayText(person.last_sign_in_on)],
        ['Signs in with', methodsText(person)],
      ]}
    />
  );
}

function methodsText({ has_password: hasPassword, passkeys }: Person): string {
  const methods = [...(hasPassword ? ['a password'] : []), ...(passkeys === 0 ? [] : [counted(passkeys, 'passkey')])];
  return methods.length === 0 ? 'a link, or an outside identity' : methods.join(', ');
}

type ActProps = Omit<PersonRowProps, 'self'>;

function Reset({ person, done }: ActProps) {
  const { person_id: id, email } = person;
  const operator = person.operator_since === undefined ? '' : ' They are no operator afterwards, either.';
  return (
    <ActButton
      label="Reset"
      fullLabel={`Reset the sign-in of ${email}`}
      question={`Reset the sign-in of ${email}?`}
      consequence={`Their password, passkeys and outside identities are gone, they are signed out everywhere, and the programs that they have connected are disconnected.${operator} You get a link that signs them in once.`}
      doIt="Reset it"
      action={() => change<WithLink>(`/operator/people/${id}/reset`)}
      done={(made) => done(`The sign-in of ${email} is reset.`, made)}
    />
  );
}

function Disable({ person: { person_id: id, email }, done }: ActProps) {
  return (
    <ActButton
      label="Disable"
      fullLabel={`Disable ${email}`}
      question={`Disable ${email}?`}
      consequence="They cannot sign in. Within seconds their sessions end, and their connected programs are refused until they are enabled again. API keys are the account’s, and stay."
      doIt="Disable them"
      action={() => change(`/operator/people/${id}/disable`)}
      done={() => done(`${email} may not sign in any more.`)}
    />
  );
}

function Enable({ person: { person_id: id, email }, done }: ActProps) {
  return (
    <ActButton
      label="Enable"
      fullLabel={`Enable ${email}`}
      isHarmless
      question={`Enable ${email}?`}
      consequence="They can sign in again, and their connected programs work again."
      doIt="Enable them"
      action={() => change(`/operator/people/${id}/enable`)}
      done={() => done(`${email} may sign in.`)}
    />
  );
}
