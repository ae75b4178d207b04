import type { ComponentType } from 'preact';
import { useEffect } from 'preact/hooks';
import { AccessSection } from './access/access-section.js';
import { announce, Announcer } from './announce.js';
import { GenerationsSection } from './generations/generations-section.js';
import { OperatorArea, OperatorNavigation } from './operator/operator-area.js';
import { place as operatorPlace, titleOf } from './operator/places.js';
import { Loaded, SectionLink, type SectionProps } from './parts/parts.js';
import { PlaygroundSection } from './playground/playground.js';
import {
  hasMoved,
  path,
  place,
  saidOnArrival,
  section,
  type SectionLink as Link,
  type SectionName,
  SECTIONS,
} from './router.js';
import type { Overview } from './server-types.js';
import { SignInSection } from './sign-in/sign-in-section.js';
import { UsageSection } from './usage/usage-section.js';
import { useData } from './use-data.js';
import { WebhooksSection } from './webhooks/webhooks-section.js';

/** The whole account page: its head, its navigation, and one section. */
export function Page() {
  const overview = useData<Overview>('/overview');
  const { reload } = overview;
  const [at, address] = [operatorPlace.value, path.value];
  const title = at === undefined ? sectionTitle() : titleOf(at);
  const Shown = SHOWN[section.value];
  useEffect(() => {
    document.title = `${title} · Darkroom`;
    if (!hasMoved.value) return;
    announce(saidOnArrival.value);
    document.getElementById('section-title')?.focus();
  }, [title, address]);
  useEffect(() => {
    // A page out of the browser's cache may be of a session that has ended.
    const check = ({ persisted }: PageTransitionEvent): void => {
      if (persisted) void reload();
    };
    window.addEventListener('pageshow', check);
    return () => window.removeEventListener('pageshow', check);
  }, [reload]);
  return (
    <>
      <a class="skip" href="#section-title">
        Skip to the content
      </a>
      <Head overview={overview.value} />
      <div class="frame container">
        <Navigation overview={overview.value} />
        <main>
          <h1 id="section-title" tabIndex={-1}>
            {title}
          </h1>
          <Loaded data={overview} what="your account">
            {(value) =>
              at === undefined ? (
                <>
                  {section.value === 'sign-in' ? null : <NoWayBack overview={value} />}
                  <Shown overview={value} reload={reload} />
                </>
              ) : (
                <OperatorArea place={at} overview={value} reload={reload} />
              )
            }
          </Loaded>
        </main>
      </div>
      <Announcer />
    </>
  );
}

function Head({ overview }: { readonly overview: Overview | undefined }) {
  return (
    <header class="head">
      <div class="container">
        <a class="brand" href="/console">
          Darkroom
        </a>
        {overview === undefined ? null : (
          <p class="who">
            <span>{overview.account.name}</span>
            <span class="quiet">{overview.person.email}</span>
          </p>
        )}
        <form method="post" action="/sign-out">
          <button type="submit" class="outline secondary small">
            Sign out
          </button>
        </form>
      </div>
    </header>
  );
}

function Navigation({ overview }: { readonly overview: Overview | undefined }) {
  return (
    <nav aria-label="Account settings">
      <ul>
        {SECTIONS.map(({ name, title }) => (
          <li key={name}>
            <SectionLink name={name} isCurrent={operatorPlace.value === undefined && section.value === name}>
              {title}
            </SectionLink>
          </li>
        ))}
        <li>
          <a href="/docs">API reference</a>
        </li>
      </ul>
      {overview?.has_operator_area === true ? <OperatorNavigation /> : null}
    </nav>
  );
}

/** A link works once, so a person who signed in with one needs another way to sign in again. */
function NoWayBack({ overview: { person, session } }: { readonly overview: Overview }) {
  if (session.method !== 'link' || person.has_password || person.has_passkey) return null;
  return (
    <p class="notice">
      Your sign-in link worked once. <SectionLink name="sign-in">Set a password or add a passkey</SectionLink>, so that
      you can sign in again.
    </p>
  );
}

/** The title of the section, or of the single item in it that the address names. */
function sectionTitle(): string {
  const shown: Link = SECTIONS.find(({ name }) => name === section.value) ?? SECTIONS[0];
  return place.value.id === undefined ? shown.title : (shown.single ?? shown.title);
}

const SHOWN: Readonly<Record<SectionName, ComponentType<SectionProps>>> = {
  'api-and-mcp': AccessSection,
  'playground': PlaygroundSection,
  'generations': GenerationsSection,
  'usage': UsageSection,
  'webhooks': WebhooksSection,
  'sign-in': SignInSection,
};
