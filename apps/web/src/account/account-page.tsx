import { place, titleOf } from '../places.js';
import { useRef } from 'preact/hooks';
import { announce } from '../parts/toasts.js';
import { browserText, dateText, METHOD_TEXTS, textOf, timeText } from '../format.js';
import { ConfirmButton, Button, SubmitButton } from '../parts/buttons.js';
import { Card, Fault, Loaded, Row, Rows, type PageProps, Page } from '../parts/parts.js';
import type { Identity, Overview, Session } from '../server-types.js';
import { reloadOverview } from '../session.js';
import { change } from '../server.js';
import { afterChange, useAction, useData, focusOn } from '../use-data.js';
import { PasskeyList, RemoveButton, SignInAgain } from './passkeys.js';

/** How the person signs in, and where they are signed in. */
function SignInSection({ overview }: PageProps) {
  return (
    <>
      <PasswordCard overview={overview} />
      <PasskeyList overview={overview} />
      <IdentityList overview={overview} />
      <SessionList />
    </>
  );
}

/** Identities at an outside provider that sign the person in. Not shown where there is neither a provider nor one. */
function IdentityList({ overview }: { readonly overview: Overview }) {
  const { provider_name: providerName } = overview;
  const identities = useData<{ readonly identities: readonly Identity[] }>('/identities');
  if (providerName === null && (identities.value?.identities.length ?? 0) === 0) return null;
  const said = afterChange(identities.reload, 'identities');
  return (
    <Card
      id="identities"
      title={providerName ?? 'Outside identities'}
      note="Identities elsewhere that sign you in here."
    >
      <Loaded data={identities} what="identities">
        {({ identities: shown }) => (
          <Rows items={shown} empty="None is connected.">
            {(identity) => (
              <IdentityRow
                key={`${identity.issuer} ${identity.subject}`}
                shown={identity}
                overview={overview}
                unlinked={() => said('The identity is removed.')}
              />
            )}
          </Rows>
        )}
      </Loaded>
      <LinkButton name={providerName} hasSome={(identities.value?.identities.length ?? 0) > 0} overview={overview} />
    </Card>
  );
}

interface IdentityRowProps {
  readonly shown: Identity;
  readonly overview: Overview;
  readonly unlinked: () => Promise<void>;
}

function IdentityRow({ shown, overview, unlinked }: IdentityRowProps) {
  const host = URL.canParse(shown.issuer) ? new URL(shown.issuer).host : shown.issuer;
  return (
    <Row
      title={host}
      actions={
        <RemoveButton
          overview={overview}
          what={`${shown.subject} at ${host}`}
          question="Remove this identity?"
          consequence="You can no longer sign in with it. Make sure that you have another way to sign in."
          action={() => change('/identities/unlink', { issuer: shown.issuer, subject: shown.subject })}
          done={unlinked}
        />
      }
      facts={[
        ['Subject', shown.subject],
        ['Connected', dateText(shown.linked_at)],
      ]}
    />
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
  const { fault, run } = useAction();
  const leave = async (): Promise<void> => {
    const { location } = await change<{ readonly location: string }>('/identities/link');
    window.location.assign(location);
  };
  const acts = [...(name === null ? [] : ['connect']), ...(hasSome ? ['remove'] : [])];
  if (!overview.session.is_recent && acts.length > 0)
    return <SignInAgain overview={overview} toDo={`${acts.join(' or ')} one`} />;
  if (name === null) return null;
  return (
    <>
      <Fault text={fault} />
      <Button isSmall onClick={() => void run(leave)}>{`Connect ${name}`}</Button>
    </>
  );
}

const MIN_LENGTH = 12;

/** Changes the password, or sets the first one. All other sessions and all connected programs end with it. */
function PasswordCard({ overview }: PageProps) {
  const { person, session } = overview;
  const form = useRef<HTMLFormElement>(null);
  const { isBusy, fault, setFault, run } = useAction();
  const submit = async (): Promise<void> => {
    const fields = new FormData(form.current ?? undefined);
    const text = (name: string): string => textOf(fields, name);
    if (text('new') !== text('again')) return setFault('The two new passwords differ.');
    await run(async () => {
      await change('/password', {
        ...(person.has_password ? { current_password: text('current') } : {}),
        new_password: text('new'),
      });
      form.current?.reset();
      announce('The password is set. You are signed out everywhere else, and your programs are disconnected.');
      focusOn('password');
      await reloadOverview();
    });
  };
  const note = person.has_password
    ? 'Changing it signs you out everywhere else and disconnects all programs that you have connected.'
    : 'You have none yet. With one you can sign in by yourself; without one you need a link from the operator. Setting it signs you out everywhere else and disconnects all programs that you have connected.';
  if (!person.has_password && !session.is_recent)
    return (
      <Card id="password" title="Password" note="You have none.">
        <SignInAgain overview={overview} toDo="set one" />
      </Card>
    );
  return (
    <Card id="password" title="Password" note={note}>
      <form
        ref={form}
        onSubmit={(event) => {
          event.preventDefault();
          void submit();
        }}
      >
        {/* Password managers keep the password under this name. */}
        <input type="email" name="email" value={person.email} autocomplete="username" readOnly hidden />
        {person.has_password ? <PasswordField label="Current password" name="current" kind="current-password" /> : null}
        <div class="fields">
          <PasswordField label="New password" name="new" kind="new-password" minLength={MIN_LENGTH} />
          <PasswordField label="New password again" name="again" kind="new-password" minLength={MIN_LENGTH} />
        </div>
        <p class="small muted">{`At least ${MIN_LENGTH} characters.`}</p>
        <Fault text={fault} />
        <SubmitButton isBusy={isBusy}>{person.has_password ? 'Change password' : 'Set password'}</SubmitButton>
      </form>
    </Card>
  );
}

interface PasswordFieldProps {
  readonly label: string;
  readonly name: string;
  readonly kind: 'current-password' | 'new-password';
  readonly minLength?: number;
}

function PasswordField({ label, name, kind, minLength = 1 }: PasswordFieldProps) {
  return (
    <label>
      {label}
      <input type="password" name={name} autocomplete={kind} required minLength={minLength} maxLength={256} />
    </label>
  );
}

/** The sessions of the person. */
function SessionList() {
  const sessions = useData<{ readonly sessions: readonly Session[] }>('/sessions');
  const ended = afterChange(sessions.reload, 'sessions');
  return (
    <Card id="sessions" title="Where you are signed in">
      <Loaded data={sessions} what="sessions">
        {({ sessions: shown }) => (
          <>
            <ul class="list">
              {shown.map((session) => (
                <SessionRow key={session.id} shown={session} ended={() => ended('That browser is signed out.')} />
              ))}
            </ul>
            {shown.length > 1 ? (
              <ConfirmButton
                label="Sign out everywhere else"
                question="Sign out everywhere else?"
                consequence="Every browser but this one has to sign in again. Keys and connected programs go on."
                doIt="Sign out everywhere else"
                action={() => change('/sessions/end-others')}
                done={() => ended('You are signed out everywhere else.')}
              />
            ) : null}
          </>
        )}
      </Loaded>
    </Card>
  );
}

function SessionRow({ shown, ended }: { readonly shown: Session; readonly ended: () => Promise<void> }) {
  const browser = browserText(shown.user_agent);
  return (
    <Row
      title={browser}
      badge={shown.is_current ? 'this browser' : undefined}
      actions={
        shown.is_current ? null : (
          <ConfirmButton
            label="Sign out"
            fullLabel={`Sign out ${browser}, signed in ${timeText(shown.created_at)}`}
            question={`Sign out ${browser}?`}
            consequence={`It was signed in ${timeText(shown.created_at)} and has to sign in again.`}
            doIt="Sign it out"
            action={() => change(`/sessions/${shown.id}/end`)}
            done={ended}
          />
        )
      }
      facts={[
        ['Signed in', `${timeText(shown.created_at)}, ${METHOD_TEXTS[shown.method]}`],
        ['Ends without use', timeText(shown.expires_at)],
      ]}
    />
  );
}

export function AccountPage({ overview }: PageProps) {
  return (
    <Page title={titleOf(place.value)}>
      <div class="stack">
        <SignInSection overview={overview} />
      </div>
    </Page>
  );
}
