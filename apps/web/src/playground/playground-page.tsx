import { useEffect, useRef } from 'preact/hooks';
import { useModels } from '../models/use-models.js';
import { Button, useCopy } from '../parts/buttons.js';
import { Empty, Fault, Loaded, type PageProps, Page } from '../parts/parts.js';
import { hrefOf, place } from '../places.js';
import { useLatest } from '../use-data.js';
import { sharedQuery } from './draft.js';
import { ActBar } from './form/act-bar.js';
import { RequestForm } from './form/request-form.js';
import { HistoryStrip } from './result/history-strip.js';
import { ResultPane } from './result/result-pane.js';
import { type Models, usePlayground } from './use-playground.js';

/** Creates images and videos in the App of this page. */
export function PlaygroundPage({ overview }: PageProps) {
  const models = useModels();
  const skeleton = (
    <div class="play">
      <div class="play-form" />
      <div class="play-out" />
    </div>
  );
  return (
    <Page title="Playground" width="full" actions={<ShareButton accountId={overview.account.id} />}>
      {overview.account.is_suspended ? (
        <div class="play-note">
          <Fault text="The account is suspended. Nothing can be created until the operator resumes it." />
        </div>
      ) : (
        <Loaded data={models} what="models" skeleton={skeleton}>
          {(all) => {
            const [first, ...others] = all.toSorted((a, b) => Number(a.is_test) - Number(b.is_test));
            return first === undefined ? (
              <Empty icon="package" title="No models yet" text="The operator has no model in the catalog." />
            ) : (
              <Playground overview={overview} models={[first, ...others]} />
            );
          }}
        </Loaded>
      )}
    </Page>
  );
}

/** Copies an address that leads others of the account to the result that is shown, or to the same settings without one. */
function ShareButton({ accountId }: { accountId: string }) {
  const { from } = place.value.query;
  const query = () => (from === undefined ? sharedQuery(accountId) : { from });
  const [isCopied, copy] = useCopy(() => location.origin + hrefOf('playground', { query: query() }), 'the address');
  return (
    <Button kind="quiet" icon="link" label="Share setup" onClick={() => void copy()}>
      <span class="wide-only">{isCopied ? 'Address copied' : 'Share setup'}</span>
    </Button>
  );
}

/** The form for a request, its result, the same request as code, and the history. */
function Playground({ overview, models }: PageProps & { models: Models }) {
  const root = useRef<HTMLDivElement>(null);
  const play = usePlayground(overview, models, root);
  const press = useLatest(() => play.submit());
  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent): void => {
      const isCreate = event.key === 'Enter' && (event.metaKey || event.ctrlKey) && !event.repeat;
      if (!isCreate || (event.target as Element).closest('dialog, [popover]') !== null) return;
      event.preventDefault();
      press();
    };
    document.addEventListener('keydown', onKeyDown);
    return () => document.removeEventListener('keydown', onKeyDown);
  }, [press]);
  return (
    <div
      ref={root}
      class="play"
      onPaste={(event) => {
        const files = [...(event.clipboardData?.files ?? [])];
        if (files.length === 0) return;
        event.preventDefault();
        play.references.take(files);
      }}
    >
      <form class="play-form" onSubmit={play.submit} noValidate aria-label="Request">
        <div class="play-fields">
          <RequestForm play={play} />
        </div>
        <ActBar play={play} />
      </form>
      <section class="play-out" aria-label="Result">
        <ResultPane key={play.from} play={play} />
        <HistoryStrip play={play} />
      </section>
    </div>
  );
}
