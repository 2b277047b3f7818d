(function () {
  'use strict';
  var root = document.documentElement;
  var $ = function (s, el) { return (el || document).querySelector(s); };
  var all = function (s, el) { return Array.prototype.slice.call((el || document).querySelectorAll(s)); };
  root.classList.add('scripted');

  // The theme: as the system has it, or as chosen before.
  var themes = ['auto', 'light', 'dark'], theme = 'auto', themeButton = $('#theme');
  function stored(value) {
    try { if (value === undefined) return localStorage.getItem('oversell-theme'); localStorage.setItem('oversell-theme', value); } catch (e) { return null; }
  }
  function setTheme(t) {
    theme = themes.indexOf(t) < 0 ? 'auto' : t;
    if (theme === 'auto') root.removeAttribute('data-theme'); else root.setAttribute('data-theme', theme);
    themeButton.textContent = 'Theme: ' + theme;
    themeButton.setAttribute('aria-label', 'Theme: ' + (theme === 'auto' ? 'as the system has it' : theme));
  }
  setTheme(stored());
  themeButton.addEventListener('click', function () { setTheme(themes[(themes.indexOf(theme) + 1) % 3]); stored(theme); });

  // Copy buttons.
  all('.copy').forEach(function (b) {
    b.addEventListener('click', function () {
      var code = $('code', b.parentNode), said = function (w) { b.textContent = w; setTimeout(function () { b.textContent = 'Copy'; }, 1500); };
      var select = function () {
        var r = document.createRange(); r.selectNodeContents(code);
        var s = getSelection(); s.removeAllRanges(); s.addRange(r);
        said(document.execCommand && document.execCommand('copy') ? 'Copied' : 'Selected');
      };
      if (navigator.clipboard) navigator.clipboard.writeText(code.textContent).then(function () { said('Copied'); }, select); else select();
    });
  });

  // Filters of event tables.
  all('.events').forEach(function (table) {
    var rows = all('tbody tr', table), texts = null, timer = 0;
    var input = $('input[data-table="' + table.id + '"]'), group = $('select[data-table="' + table.id + '"]');
    var count = document.getElementById(input.id.replace('filter', 'count')), whole = count.textContent;
    function apply() {
      texts = texts || rows.map(function (r) { return all('td', r).map(function (c) { return c.textContent.trim(); }).join(' ').toLowerCase(); });
      var words = input.value.toLowerCase().split(/\s+/).filter(Boolean), kinds = group.value ? group.value.split(' ') : null, n = 0;
      rows.forEach(function (r, i) {
        var kind = r.cells[2].textContent.trim();
        var on = words.every(function (w) { return texts[i].indexOf(w) >= 0; }) && (!kinds || kinds.some(function (k) { return kind.indexOf(k) === 0; }));
        r.hidden = !on; if (on) n++;
      });
      count.textContent = n === rows.length ? whole : n + ' of ' + rows.length + ' events';
    }
    input.addEventListener('input', function () { clearTimeout(timer); timer = setTimeout(apply, 80); });
    group.addEventListener('change', apply);
    table.reset = function () { if (input.value || group.value) { input.value = group.value = ''; apply(); } };
    table.addEventListener('click', function (e) { var r = e.target.closest('tbody tr'); if (r) lookAt(r); });
  });

  // The timeline.
  var plots = $('#plots');
  if (!plots) return;
  var from = +plots.dataset.from, to = +plots.dataset.to, len = Math.max(1, to - from);
  var a = +plots.dataset.a, b = +plots.dataset.b, shown = $('#shown'), now = $('#now');
  var chains = all('.chains>li[data-a]'), current = -1;
  var ns = 'http://www.w3.org/2000/svg';
  var boxes = all('svg.time svg > text', plots).map(function (text) {
    var box = text.parentNode;
    return { text: text, x: parseFloat(box.getAttribute('x')) / 100, w: parseFloat(box.getAttribute('width')) / 100, need: text.textContent.length * 6 + 8 };
  });
  // Words stand where their box can be seen, if there is room for them.
  function words(width) {
    var w = b - a;
    boxes.forEach(function (o) {
      var left = Math.max(o.x, a), right = Math.min(o.x + o.w, b), room = (right - left) / w * width;
      var on = room >= o.need;
      if (on) o.text.setAttribute('x', ((left - o.x) / o.w * 100) + '%');
      if (on !== o.on) { o.text.setAttribute('visibility', on ? 'visible' : 'hidden'); o.on = on; }
    });
  }
  function time(t, step) {
    var d = step >= 1e9 ? 0 : Math.min(6, Math.ceil(-Math.log10(step / 1e9) - 1e-9));
    return (t / 1e9).toFixed(Math.max(0, d)) + ' s';
  }
  function niceStep(span, n) {
    var raw = span / Math.max(1, n), p = Math.pow(10, Math.floor(Math.log10(raw)));
    return [1, 2, 5, 10].map(function (m) { return m * p; }).find(function (s) { return s >= raw; });
  }
  function grid(svg) {
    var g = $('.grid', svg), w = svg.clientWidth, h = svg.getAttribute('height');
    while (g.firstChild) g.removeChild(g.firstChild);
    var ta = from + a * len, span = (b - a) * len, step = niceStep(span, w / 96);
    for (var t = Math.ceil(ta / step) * step; t <= ta + span; t += step) {
      var x = (t - ta) / span * 100, line = document.createElementNS(ns, 'line');
      [['x1', x + '%'], ['x2', x + '%'], ['y1', 20], ['y2', h]].forEach(function (p) { line.setAttribute(p[0], p[1]); });
      g.appendChild(line);
      if (x * w / 100 > w - 64) continue;
      var text = document.createElementNS(ns, 'text');
      text.setAttribute('x', x + '%'); text.setAttribute('dx', 4); text.setAttribute('y', 13); text.textContent = time(t, step);
      g.appendChild(text);
    }
  }
  function show(na, nb) {
    var least = Math.min(1, 2e4 / len);
    var w = Math.min(1, Math.max(nb - na, least)), mid = (na + nb) / 2;
    a = Math.min(1 - w, Math.max(0, mid - w / 2)); b = a + w;
    all('svg.time', plots).forEach(function (s) { s.setAttribute('x', (-a / w * 100) + '%'); s.setAttribute('width', (100 / w) + '%'); });
    all('.window', plots).forEach(function (r) { r.setAttribute('x', (a * 100) + '%'); r.setAttribute('width', (w * 100) + '%'); });
    all('svg.main', plots).forEach(grid);
    words($('svg.main', plots).clientWidth);
    shown.textContent = time(from + a * len, 1e6) + ' to ' + time(from + b * len, 1e6);
  }
  function zoom(f, at) { at = at === undefined ? (a + b) / 2 : at; show(at - (at - a) * f, at + (b - at) * f); }
  function move(f) { var d = (b - a) * f; if (a + d < 0) d = -a; if (b + d > 1) d = 1 - b; show(a + d, b + d); }
  function centre(t) { var w = b - a, x = (t - from) / len; show(x - w / 2, x + w / 2); }
  function mark(id) {
    all('.hit').forEach(function (el) { el.classList.remove('hit'); });
    all('a[href="#' + id + '"]', plots).forEach(function (el) { el.classList.add('hit'); });
  }
  function lookAt(row) {
    mark(row.id); row.classList.add('hit');
    var t = parseFloat(row.cells[1].textContent) * 1e9, x = (t - from) / len;
    if (x < a || x > b) centre(t);
  }
  function step(d) {
    if (!chains.length) { now.textContent = 'There is nothing to step through.'; return; }
    current = current < 0 ? (d > 0 ? 0 : chains.length - 1) : (current + d + chains.length) % chains.length;
    select(chains[current]);
  }
  function select(li) {
    current = chains.indexOf(li);
    chains.forEach(function (c) { c.classList.toggle('current', c === li); });
    var focus = $('.focus', document.getElementById(li.dataset.plot));
    all('.focus', plots).forEach(function (f) { if (f !== focus) f.setAttribute('visibility', 'hidden'); });
    if (focus) {
      focus.removeAttribute('visibility');
      focus.setAttribute('x', (li.dataset.at * 100) + '%');
      focus.setAttribute('width', Math.max(0, (li.dataset.end - li.dataset.at) * 100) + '%');
    }
    show(+li.dataset.a, +li.dataset.b);
    now.textContent = '';
    var strong = document.createElement('b');
    strong.textContent = (current + 1) + ' of ' + chains.length + ': ' + li.dataset.title + '. ';
    now.appendChild(strong);
    now.appendChild(document.createTextNode(all('.chain li', li).map(function (l) { return l.textContent.replace(/\s+/g, ' ').trim(); }).join('; ')));
  }
  var doing = {
    prev: function () { step(-1); }, next: function () { step(1); }, 'in': function () { zoom(0.5); }, out: function () { zoom(2); },
    left: function () { move(-0.3); }, right: function () { move(0.3); }, all: function () { show(0, 1); }
  };
  var keys = { n: 'next', p: 'prev', '+': 'in', '=': 'in', '-': 'out', '0': 'all' };
  all('[data-do]').forEach(function (el) { el.addEventListener('click', doing[el.dataset.do]); });
  document.addEventListener('keydown', function (e) {
    if (e.ctrlKey || e.metaKey || e.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(e.target.tagName)) return;
    var what = keys[e.key];
    if (!what && plots.contains(e.target)) what = { ArrowLeft: 'left', ArrowRight: 'right' }[e.key];
    if (what) { doing[what](); e.preventDefault(); }
  });
  all('svg.main', plots).forEach(function (svg) {
    var drag = null;
    svg.addEventListener('wheel', function (e) {
      if (!e.ctrlKey && !e.shiftKey) return;
      e.preventDefault();
      var r = svg.getBoundingClientRect();
      if (e.ctrlKey) zoom(e.deltaY > 0 ? 1.25 : 0.8, a + (b - a) * (e.clientX - r.left) / r.width); else move((e.deltaY || e.deltaX) > 0 ? 0.15 : -0.15);
    }, { passive: false });
    svg.addEventListener('pointerdown', function (e) { if (e.button === 0) drag = { x: e.clientX, a: a, b: b, moved: false, id: e.pointerId }; });
    svg.addEventListener('pointermove', function (e) {
      if (!drag) return;
      var d = (drag.x - e.clientX) / svg.clientWidth * (drag.b - drag.a);
      if (!drag.moved && Math.abs(drag.x - e.clientX) > 4) { drag.moved = true; svg.setPointerCapture(drag.id); }
      if (drag.moved) show(Math.min(Math.max(0, drag.a + d), 1 - (drag.b - drag.a)), Math.max(Math.min(1, drag.b + d), drag.b - drag.a));
    });
    var end = function () { setTimeout(function () { drag = null; }, 0); };
    svg.addEventListener('pointerup', end); svg.addEventListener('pointercancel', end);
    svg.addEventListener('click', function (e) { if (drag && drag.moved) { e.preventDefault(); e.stopPropagation(); } }, true);
    svg.addEventListener('dblclick', function (e) { var r = svg.getBoundingClientRect(); zoom(0.4, a + (b - a) * (e.clientX - r.left) / r.width); });
  });
  all('svg.over', plots).forEach(function (svg) {
    var down = false, go = function (e) { var r = svg.getBoundingClientRect(), x = (e.clientX - r.left) / r.width, w = Math.min(b - a, 0.5); show(x - w / 2, x + w / 2); };
    svg.addEventListener('pointerdown', function (e) { down = true; svg.setPointerCapture(e.pointerId); go(e); });
    svg.addEventListener('pointermove', function (e) { if (down) go(e); });
    svg.addEventListener('pointerup', function () { down = false; });
  });
  function hash() {
    var el = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!el) return;
    if (chains.indexOf(el) >= 0) { select(el); return; }
    if (el.tagName !== 'TR') return;
    var table = el.closest('table'), box = el.closest('details');
    if (box) box.open = true;
    table.reset(); lookAt(el);
    el.scrollIntoView({ block: 'nearest' });
  }
  addEventListener('hashchange', hash);
  addEventListener('resize', function () { show(a, b); });
  show(a, b);
  hash();
})();
