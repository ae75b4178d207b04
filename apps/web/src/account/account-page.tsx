import { useRef, useState } from 'preact/hooks';
import { LogOut, Monitor, Smartphone } from 'lucide-preact';
import { reloadOverview, signOut } from '../session.js';
import { browserText, dateText, METHOD_TEXTS, textOf, timeText } from '../format.js';
import { Button, ConfirmButton, CopyableId } from '../parts/buttons.js';
import { Field } from '../parts/form.js';
import { Icon } from '../parts/icon.js';
import { Badge, Card, Facts, Fault, Loaded, Page, type PageProps, Time } from '../parts/parts.js';
import { announce } from '../parts/toasts.js';
import type { Identity, Overview, Session } from '../server-types.js';
import { change, pointerOf } from '../server.js';
import { afterChange, focusOn, focusOnFaulty, useAction, useData } from '../use-data.js';
import { PasskeyList, RemoveButton, SignInAgain } from './passkeys.js';
import { Preferences } from './preferences.js';

/** How the person signs in, where they are signed in, and what they prefer in this browser. */
export function AccountPage({ overview }: PageProps) {
  const { person, account } = overview;
  return (
    <Page title="Account">
      <div class="stack column">
        <Card
          id="person"
          title="You"
          actions={
            <Button isSmall icon={LogOut} onClick={signOut}>
              Sign out
            </Button>
          }
        >
          <Facts
            facts={[
              ['E-mail address', person.email],
              ['Account', account.name],
              ['Account id', <CopyableId key="id" id={account.id} what="account id" />],
            ]}
          />
        </Card>
        <PasswordCard overview={overview} />
        <PasskeyList overview={overview} />
        <IdentityList overview={overview} />
        <SessionList />
        <Preferences />
      </div>
    </Page>
  );
}

const MIN_LENGTH = 12;
const DIFFERENT = 'The two new passwords differ.';

/** All other sessions and all connected programs end with a new password. */
function PasswordCard({ overview }: PageProps) {
  const { person, session } = overview;
  const mustSignIn = !person.has_password && !session.is_recent;
  return (
    <Card
      id="password"
      title="Password"
      note={mustSignIn ? 'You have none.' : 'A new one signs you out everywhere else, and disconnects your programs.'}
    >
      {mustSignIn ? <SignInAgain overview={overview} toDo="set one" /> : <PasswordForm person={person} />}
    </Card>
  );
}

/** Changes the password, or sets the first one. */
function PasswordForm({ person }: Pick<Overview, 'person'>) {
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, fault, error, setFault, run } = useAction();
  const [isDifferent, setDifferent] = useState(false);
  const at = pointerOf(error);
  const errorAt = (pointer: string): string | undefined => (at === pointer ? fault : undefined);
  const submit = async (): Promise<void> => {
    const fields = new FormData(form.current ?? undefined);
    const text = (name: string): string => textOf(fields, name);
    setDifferent(text('new') !== text('again'));
    if (text('new') !== text('again')) return focusOnFaulty(form.current);
    const worked = await run(async () => {
      await change('/password', {
        ...(person.has_password ? { current_password: text('current') } : {}),
        new_password: text('new'),
      });
      form.current?.reset();
      announce('The password is set. You are signed out everywhere else, and your programs are disconnected.');
      focusOn('password');
      await reloadOverview();
    });
    if (!worked) focusOnFaulty(form.current);
  };
  return (
    <form
      ref={form}
      class="form"
      onInput={() => {
        setFault(undefined);
        setDifferent(false);
      }}
      onSubmit={(event) => {
        event.preventDefault();
        void submit();
      }}
    >
      {/* Password managers keep the password under this name. */}
      <input type="email" name="email" value={person.email} autocomplete="username" readOnly hidden />
      {person.has_password ? (
        <PasswordField
          label="Current password"
          name="current"
          kind="current-password"
          error={errorAt('/current_password')}
        />
      ) : null}
      <div class="fields">
        <PasswordField
          label="New password"
          name="new"
          kind="new-password"
          hint={`At least ${MIN_LENGTH} characters.`}
          error={errorAt('/new_password')}
        />
        <PasswordField
          label="New password again"
          name="again"
          kind="new-password"
          error={isDifferent ? DIFFERENT : undefined}
        />
      </div>
      <Fault text={['/current_password', '/new_password'].includes(at) ? undefined : fault} />
      <div>
        <Button type="submit" isBusy={isBusy} busyText="Saving…">
          {person.has_password ? 'Change password' : 'Set password'}
        </Button>
      </div>
    </form>
  );
}

interface PasswordFieldProps {
  readonly label: string;
  readonly name: string;
  readonly kind: 'current-password' | 'new-password';
  readonly hint?: string;
  readonly error: string | undefined;
}

function PasswordField({ label, name, kind, hint, error }: PasswordFieldProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input
          {...control}
          class="input"
          type="password"
          name={name}
          autocomplete={kind}
          required
          minLength={kind === 'new-password' ? MIN_LENGTH : 1}
          maxLength={256}
        />
      )}
    </Field>
  );
}

interface Identities {
  readonly identities: readonly Identity[];
}

/** Identities at an outside provider that sign the person in. Not shown where there is neither a provider nor one. */
function IdentityList({ overview }: PageProps) {
  const { provider_name: providerName } = overview;
  const identities = useData<Identities>('/identities');
  const count = identities.value?.identities.length ?? 0;
  if (providerName === null && count === 0) return null;
  const said = afterChange(identities.reload, 'identities');
  return (
    <Card
      id="identities"
      title={providerName ?? 'Outside identities'}
      note="An identity elsewhere that signs you in here."
      isFlush
    >
      <Loaded data={identities} what="identities">
        {({ identities: shown }) => (
          <ul class="list">
            {shown.map((identity) => (
              <IdentityRow
                key={`${identity.issuer} ${identity.subject}`}
                shown={identity}
                overview={overview}
                unlinked={() => said('The identity is removed.')}
              />
            ))}
          </ul>
        )}
      </Loaded>
      <LinkButton name={providerName} hasSome={count > 0} overview={overview} />
    </Card>
  );
}

interface IdentityRowProps {
  readonly shown: Identity;
  readonly overview: Overview;
  readonly unlinked: () => Promise<void>;
}

function IdentityRow({ shown: { issuer, subject, linked_at: linkedAt }, overview, unlinked }: IdentityRowProps) {
  const host = URL.canParse(issuer) ? new URL(issuer).host : issuer;
  return (
    <li>
      <div class="grow">
        <h3 class="named">{host}</h3>
        <small>{`${subject} · connected ${dateText(linkedAt)}`}</small>
      </div>
      <RemoveButton
        overview={overview}
        what={`${subject} at ${host}`}
        question="Remove this identity?"
        consequence="You can no longer sign in with it. Make sure that you have another way to sign in."
        doIt="Remove identity"
        action={() => change('/identities/unlink', { issuer, subject })}
        done={unlinked}
      />
    </li>
  );
}

interface LinkButtonProps {
  /** Null where no provider is configured, so that identities can only be removed. */
  readonly name: string | null;
  readonly hasSome: boolean;
  readonly overview: Overview;
}

/** Leads to the provider and back. A change of the ways to sign in requires proof that the person is there. */
function LinkButton({ name, hasSome, overview }: LinkButtonProps) {
  const { isBusy, fault, run } = useAction();
  const leave = async (): Promise<void> => {
    const { location } = await change<{ readonly location: string }>('/identities/link');
    window.location.assign(location);
  };
  const acts = [...(name === null ? [] : ['connect']), ...(hasSome ? ['remove'] : [])];
  const isOld = !overview.session.is_recent && acts.length > 0;
  if (!isOld && name === null) return null;
  return (
    <div class="body stack-s">
      {isOld ? (
        <SignInAgain overview={overview} toDo={`${acts.join(' or ')} one`} />
      ) : (
        <>
          <Fault text={fault} />
          <Button isBusy={isBusy} onClick={() => void run(leave)}>{`Connect ${name}`}</Button>
        </>
      )}
    </div>
  );
}

/** The sessions of the person. */
function SessionList() {
  const sessions = useData<{ readonly sessions: readonly Session[] }>('/sessions', { everyMs: 30_000 });
  const ended = afterChange(sessions.reload, 'sessions');
  const hasOthers = (sessions.value?.sessions.length ?? 0) > 1;
  return (
    <Card
      id="sessions"
      title="Where you are signed in"
      isFlush
      actions={
        hasOthers ? (
          <ConfirmButton
            label="Sign out everywhere else"
            question="Sign out everywhere else?"
            consequence="Every browser but this one has to sign in again. Keys and connected programs continue to work."
            doIt="Sign out everywhere else"
            action={() => change('/sessions/end-others')}
            done={() => ended('You are signed out everywhere else.')}
          />
        ) : undefined
      }
    >
      <Loaded data={sessions} what="sessions">
        {({ sessions: shown }) => (
          <ul class="list">
            {shown.map((session) => (
              <SessionRow key={session.id} shown={session} ended={() => ended('That browser is signed out.')} />
            ))}
          </ul>
        )}
      </Loaded>
    </Card>
  );
}

function SessionRow({ shown, ended }: { readonly shown: Session; readonly ended: () => Promise<void> }) {
  const { user_agent: userAgent, created_at: createdAt, expires_at: expiresAt } = shown;
  const browser = browserText(userAgent);
  return (
    <li>
      <Icon of={/Mobi|Android|iPhone/.test(userAgent) ? Smartphone : Monitor} />
      <div class="grow">
        <h3 class="row wrap named">
          {browser}
          {shown.is_current ? <Badge look="ok">This browser</Badge> : null}
        </h3>
        <small>
          Signed in <Time at={createdAt} /> {METHOD_TEXTS[shown.method]} · expires {timeText(expiresAt)} if unused
        </small>
      </div>
      {shown.is_current ? null : (
        <ConfirmButton
          label="Sign out"
          fullLabel={`Sign out ${browser}, signed in ${timeText(createdAt)}`}
          question={`Sign out ${browser}?`}
          consequence={`It was signed in ${timeText(createdAt)} and has to sign in again.`}
          doIt="Sign out browser"
          action={() => change(`/sessions/${shown.id}/end`)}
          done={ended}
        />
      )}
    </li>
  );
}
