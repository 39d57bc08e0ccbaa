// What the tests of the explorer ask a page, by name: `script` of browser.py calls one of these.
({
    // Show another link without loading the app again.
    turn(path) {
        history.pushState({}, '', path);
        dispatchEvent(new PopStateEvent('popstate'));
    },

    part: name => [...document.querySelectorAll(`[data-testid=${name}]`)],

    // Whether a page is at rest: no run under way, nothing left of the run before, every chart and picture there.
    quiet() {
        return this.part('stApp')[0]?.dataset.testScriptState === 'notRunning'
            && !document.querySelector('[data-stale=true]') && !this.part('stSkeleton').length
            && this.part('stVegaLiteChart').every(chart => chart.querySelector('.marks, .error, [role=alert]'))
            && this.part('stBidiComponentIsolated').every(one => one.closest('.st-key-page-script')
                || one.shadowRoot?.querySelector('.place svg, .cards svg, .slides svg, .save:not(.picture *) button'));
    },

    // Whether a page is at rest and shows what its link says.
    drawn(path) {
        return this.quiet() && (this.part('stCode')[0]?.textContent.trim() ?? '').endsWith('/' + path);
    },

    // Whether a page has been at rest since a question was asked: for 12 frames, in which an action starts its run, or
    // for 6 after a run; a frame takes 1/60 s, more where the machine is busy.
    still(asked) {
        if (window.still?.asked !== asked) window.still = { asked, frames: 12 };
        window.still.frames = this.quiet() ? window.still.frames - 1 : 6;
        return window.still.frames < 0;
    },

    // Where the answer to an action is seen: the address, the link that the page offers, and what it refuses.
    answers() {
        return JSON.stringify([
            location.href, document.querySelector('[data-testid=stCode]')?.textContent ?? null,
            ...[...document.querySelectorAll('[data-testid=stAlertContentError]')].map(alert => alert.innerText),
        ]);
    },

    answered(before) {
        return this.quiet() && this.answers() !== before;
    },

    // The widgets with a key: kind, what each shows, what can be chosen with one click, whether it is off.
    controls() {
        const find = (place, query) => [...place.querySelectorAll(query)];
        const text = element => (element?.innerText || element?.textContent)?.trim() ?? null; // closed: no innerText
        const parts = {
            stButtonGroup: group => {
                const all = find(group, '[role=radio]');
                return { shown: text(all.find(one => one.ariaChecked === 'true')), options: all.map(text) };
            },
            stRadio: group => {
                const all = find(group, 'input');
                return { shown: all.find(one => one.checked)?.value ?? null, options: all.map(one => one.value) };
            },
            stSelectbox: box => ({ shown: box.querySelector('input').value }),
            stMultiSelect: box => ({ shown: find(box, '[data-tag]').map(tag => tag.ariaLabel) }),
            stSlider: slider => ({ shown: slider.querySelector('input').value }),
            stNumberInput: box => ({ shown: box.querySelector('input').value }),
            stTextInput: box => ({ shown: box.querySelector('input').value }),
            stTextArea: box => ({ shown: box.querySelector('textarea').value }),
            stCheckbox: box => ({ shown: box.querySelector('input').checked }),
            stButton: box => ({ shown: null, isOff: box.querySelector('button').disabled }),
        };
        const kinds = Object.keys(parts), found = [];
        const places = ['stMain', 'stPopoverBody'].map(name =>
            `[data-testid=${name}] [data-testid=stElementContainer][class*=st-key-]`);
        for (const place of find(document, places.join())) {
            const part = place.querySelector(kinds.map(kind => `[data-testid=${kind}]`).join());
            if (!part) continue;
            const key = [...place.classList].find(name => name.startsWith('st-key-')).slice('st-key-'.length);
            found.push({
                key, kind: part.dataset.testid, options: [], isOff: false, ...parts[part.dataset.testid](part),
            });
        }
        return found;
    },

    // The link that a page offers.
    link() {
        return this.part('stCode').map(code => code.textContent.trim()).find(text => /^https?:\S+$/.test(text)) ?? null;
    },

    // Whether the list of a box is open.
    listed(box) {
        return document.getElementById(box.getAttribute('aria-controls'))?.querySelector('[role=option]');
    },

    // How wide the widest part of a page is.
    width() {
        return Math.max(...['html', '[data-testid=stMain]'].map(name => document.querySelector(name).scrollWidth));
    },
})
