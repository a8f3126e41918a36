#!/usr/bin/env python3
"""Writes the PDF, DOCX and EPUB documents of documents/ from the text below: make_binary_samples.py [OUTDIR]

Standard library only, and the same bytes at every run.
"""
import os
import sys
import textwrap
import zipfile
import zlib

WIDTH, HEIGHT, MARGIN = 595, 842, 72

# Each document: title, then pages of (style, text). Styles: h1, h2, p, li, code.
GAUGE = ("Tide gauge TG-4: manual", [
    [("h1", "Tide gauge TG-4: manual"),
     ("p", "The TG-4 measures the water level by pressure, once a second, and sends the mean of each minute. It hangs on a rope or stands in a tube, down to 30 metres below the surface."),
     ("h2", "Contents of the box"),
     ("li", "Gauge with 10 metres of cable"), ("li", "Buoy box with battery and antenna"), ("li", "Calibration sheet with the serial number"), ("li", "Two shackles, 6 mm, stainless"),
     ("p", "Compare the serial number on the gauge with the sheet before anything else. A gauge without its own sheet measures, but its readings are worth nothing in court."),
     ("h2", "Safety"),
     ("p", "The buoy box has a lithium battery. Do not open it, do not charge it below freezing point, and do not leave it in a closed car in summer. Never work alone over water, and wear a life jacket also on a pontoon.")],
    [("h1", "Installation"),
     ("h2", "Choosing the place"),
     ("p", "The gauge needs quiet water. Keep away from propellers, outlets and the corners of quay walls, where waves run up. The lowest water level must still cover the gauge by half a metre, or it falls dry and the series has holes that cannot be filled afterwards."),
     ("h2", "Mounting"),
     ("p", "Screw the tube to the wall with four anchors. Lower the gauge until it stands on the stop, and secure the rope with both shackles. The cable must not carry weight: leave a loop of half a metre above the water."),
     ("h2", "Levelling"),
     ("p", "Measure the height of the mark on the tube against the nearest bench mark, twice and with the instrument set up anew in between. If the two differ by more than three millimetres, do it a third time. Enter the mean under Reference in the menu.")],
    [("h1", "Operation"),
     ("h2", "The lamp"),
     ("p", "The lamp on the buoy box shows the state. Green, once in ten seconds: all is well. Yellow: the battery is low, below 20 per cent. Red: no reading for five minutes. Blue: data are being sent."),
     ("h2", "Low battery"),
     ("p", "When the battery falls below 20 per cent, the gauge sends every ten minutes instead of every minute, and keeps the readings of each minute in its memory. Below 5 per cent it stops sending altogether, but goes on measuring for about nine days. Nothing is lost: after charging it sends what was kept, oldest first. A full charge takes six hours; with the solar panel the battery lasts through a winter at 54 degrees north."),
     ("h2", "Fetching data by cable"),
     ("p", "Connect a laptop and type:"),
     ("code", "gauge --port /dev/ttyUSB0 --since 2024-01-01 > level.csv"),
     ("p", "The file has one line a minute: time in UTC, level in metres above the reference, temperature, and a quality mark from 0 (bad) to 3 (good).")],
    [("h1", "Care"),
     ("h2", "Cleaning"),
     ("p", "Growth on the membrane makes the readings drift, by up to four centimetres a month in summer. Lift the gauge every six weeks, soak it in vinegar for an hour, and rinse it. Never scrape the membrane: it is thinner than paper."),
     ("h2", "Calibration"),
     ("p", "Send the gauge in every two years, or after a fall. We compare it at eleven depths in the calibration tank and issue a new sheet. The calibration takes eight working days; a gauge on loan is free of charge during this time."),
     ("h2", "Faults"),
     ("li", "The level jumps by exactly 10.13: the air pressure correction is switched off. Switch it on under Menu, Correction."),
     ("li", "The time is off by whole hours: the gauge always runs on UTC."),
     ("li", "No connection: the antenna must stand upright and 30 centimetres above the water.")]])

TRAVEL = ("Travel policy", [
    [("h1", "Travel policy"),
     ("p", "Valid from 1 January 2024 for everybody who travels for the company, trainees included."),
     ("h2", "Which way to travel"),
     ("p", "The train comes first. Within 600 kilometres flights are refunded only when the train would need more than seven hours or an additional night. Take the second class up to three hours, and whichever you like beyond. Taxis are for luggage that cannot be carried, for the time between eleven and five at night, and for places without a bus."),
     ("h2", "Approval"),
     ("p", "Journeys within the country need the word of the team lead. Journeys abroad, and every flight that costs more than 800 euros, are approved by the head of finance in writing before they are booked. Whoever books first and asks afterwards may end up paying.")],
    [("h1", "Money"),
     ("h2", "Hotels"),
     ("p", "Up to 130 euros a night with breakfast, in capitals up to 180. Book through the portal: it knows the limits and the cancellation terms. Ask for a room away from the harbour cranes; they work at night."),
     ("h2", "Meals"),
     ("p", "There is a flat rate and no receipts: 14 euros for days with more than eight hours of absence, 28 for whole days. Abroad, the table of the tax office counts. Breakfast that the hotel includes takes 5.60 off."),
     ("h2", "Private cars"),
     ("p", "30 cents a kilometre, and the company's insurance covers damage to the car on the way. Give a colleague a lift and it is 32.")],
    [("h1", "On the way"),
     ("h2", "Equipment"),
     ("p", "Survey equipment flies as cargo, with a carnet for customs outside of the Union. Batteries above 100 watt-hours may not fly at all without a declaration: ask the workshop two weeks ahead."),
     ("h2", "Illness and accidents"),
     ("p", "Call the travel insurance first, the number is on the back of the harbour pass, then your team lead. The insurance brings you home; do not book anything by yourself. Keep the papers of the hospital, translations are not needed."),
     ("h2", "Weekends"),
     ("p", "Whoever stays a weekend for a cheaper return flight may have half of what it saved, as time or as money.")]])

SURVEY = ("Employee survey 2023", [
    ("h1", "Employee survey 2023"),
    ("p", "26 of 30 colleagues answered. This is what they said, and what will be done about it."),
    ("h2", "What is good"),
    ("p", "Most name the mixture of work outside and at the desk, and that mistakes are talked about without anybody being made small. The coffee machine has more friends than the management."),
    ("h2", "What should change"),
    ("li", "The noise in the large office: eleven people want a room for telephone calls."),
    ("li", "Surveys are planned too late; four days of notice are the wish, two are usual."),
    ("li", "The canteen at the fish market closes before the survey teams come back."),
    ("h2", "What will be done"),
    ("table", [["Measure", "Who", "Until"], ["Two telephone booths", "Lind", "new office"], ["Planning board, a week ahead", "Brandt", "February"], ["Late lunch agreed with the canteen", "Okafor", "done"]]),
    ("p", "The next survey is in November 2024.")])

TOUR = ("Harbour tour for guests", [
    ("Start at the customs house", ["The tour takes ninety minutes and begins at the customs house of 1888. Its clock was set by the time ball on the signal tower: when the ball fell, it was noon, and the captains set their chronometers.", "Tell guests to wear flat shoes. The cobbles are original, and so are the gaps between them."]),
    ("The dry dock", ["The dry dock was dug by hand in four winters. A ship of 180 metres fits with a metre to spare at each end. Emptying it takes three hours, and fish that stay behind belong to the dock master by an old right.", "Ask at the gate whether a ship is in; nobody may stand within five metres of the edge."]),
    ("Lunch", ["The fish market has soup until two. Groups of more than eight should be announced the day before."])])


# --- PDF ---------------------------------------------------------------------------------------
STYLES = {"h1": ("/F2", 18, 30), "h2": ("/F2", 13, 24), "p": ("/F1", 11, 8), "li": ("/F1", 11, 3), "code": ("/F3", 10, 8)}


def pdf_text(text):
    raw = text.encode("cp1252")
    return b"(" + raw.replace(b"\\", b"\\\\").replace(b"(", b"\\(").replace(b")", b"\\)") + b") Tj"


def pdf_page(items, title, number, count):
    ops, y, first = [], HEIGHT - MARGIN, True
    for style, text in items:
        font, size, above = STYLES[style]
        y -= 0 if first else above
        first = False
        bullet = "\u2022 " if style == "li" else ""
        for line in textwrap.wrap(bullet + text, {"h1": 50, "h2": 70, "code": 80}.get(style, 88)):
            y -= size * 1.3
            ops.append(b"BT %s %d Tf %d %.1f Td " % (font.encode(), size, MARGIN, y) + pdf_text(line) + b" ET")
    foot = f"{title}   page {number} of {count}"
    ops.append(b"BT /F1 8 Tf %d 40 Td " % MARGIN + pdf_text(foot) + b" ET")
    return zlib.compress(b"\n".join(ops), 9)


def make_pdf(document):
    title, pages = document
    objects = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    fonts = b"<< /F1 3 0 R /F2 4 0 R /F3 5 0 R >>"
    for name in (b"Helvetica", b"Helvetica-Bold", b"Courier"):
        objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /%s /Encoding /WinAnsiEncoding >>" % name)
    objects.append(b"<< /Title (" + title.encode("ascii") + b") /Author (Hale & Wyndham) >>")
    kids = []
    for number, items in enumerate(pages, 1):
        stream = pdf_page(items, title, number, len(pages))
        objects.append(b"<< /Length %d /Filter /FlateDecode >>\nstream\n" % len(stream) + stream + b"\nendstream")
        objects.append(b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Resources << /Font %s >> /Contents %d 0 R >>" % (WIDTH, HEIGHT, fonts, len(objects)))
        kids.append(b"%d 0 R" % len(objects))
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (len(kids), b" ".join(kids))
    out, offsets = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"), []
    for n, body in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n" % n + body + b"\nendobj\n"
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1) + b"".join(b"%010d 00000 n \n" % o for o in offsets)
    out += b"trailer\n<< /Size %d /Root 1 0 R /Info 6 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, start)
    return bytes(out)


# --- zip containers ----------------------------------------------------------------------------
def xml(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def write_zip(path, parts):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as z:
        for name, data in parts:
            info = zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0))
            info.compress_type = zipfile.ZIP_STORED if name == "mimetype" else zipfile.ZIP_DEFLATED
            z.writestr(info, data)


def make_docx(path, document):
    title, items = document
    w = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    run = lambda text: f'<w:r><w:t xml:space="preserve">{xml(text)}</w:t></w:r>'
    body = []
    for style, content in items:
        if style == "table":
            rows = []
            for n, cells in enumerate(content):
                head = "<w:trPr><w:tblHeader/></w:trPr>" if n == 0 else ""
                rows.append("<w:tr>" + head + "".join(f"<w:tc><w:p>{run(c)}</w:p></w:tc>" for c in cells) + "</w:tr>")
            body.append("<w:tbl>" + "".join(rows) + "</w:tbl>")
            continue
        props = {"h1": '<w:pPr><w:pStyle w:val="Heading1"/></w:pPr>', "h2": '<w:pPr><w:pStyle w:val="Heading2"/></w:pPr>',
                 "li": '<w:pPr><w:numPr><w:ilvl w:val="0"/><w:numId w:val="1"/></w:numPr></w:pPr>'}.get(style, "")
        body.append(f"<w:p>{props}{run(content)}</w:p>")
    styles = "".join(f'<w:style w:type="paragraph" w:styleId="Heading{n}"><w:name w:val="heading {n}"/></w:style>' for n in (1, 2))
    rel = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/"
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    write_zip(path, [
        ("[Content_Types].xml", head + '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/><Override PartName="/word/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.styles+xml"/></Types>'),
        ("_rels/.rels", head + f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="{rel}officeDocument" Target="word/document.xml"/></Relationships>'),
        ("word/_rels/document.xml.rels", head + f'<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="{rel}styles" Target="styles.xml"/></Relationships>'),
        ("word/styles.xml", head + f'<w:styles xmlns:w="{w}">{styles}</w:styles>'),
        ("word/document.xml", head + f'<w:document xmlns:w="{w}"><w:body>{"".join(body)}</w:body></w:document>'),
        ("docProps/core.xml", head + f'<cp:coreProperties xmlns:cp="http://schemas.openxmlformats.org/package/2006/metadata/core-properties" xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{xml(title)}</dc:title></cp:coreProperties>'),
    ])


def make_epub(path, document):
    title, chapters = document
    head = '<?xml version="1.0" encoding="UTF-8"?>'
    items = "".join(f'<item id="c{n}" href="chapter{n}.xhtml" media-type="application/xhtml+xml"/>' for n in range(1, len(chapters) + 1))
    spine = "".join(f'<itemref idref="c{n}"/>' for n in range(1, len(chapters) + 1))
    nav = "".join(f'<li><a href="chapter{n}.xhtml">{xml(name)}</a></li>' for n, (name, _) in enumerate(chapters, 1))
    page = lambda name, inner: f'{head}<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops"><head><title>{xml(name)}</title></head><body>{inner}</body></html>'
    parts = [
        ("mimetype", "application/epub+zip"),
        ("META-INF/container.xml", head + '<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="text/package.opf" media-type="application/oebps-package+xml"/></rootfiles></container>'),
        ("text/package.opf", head + f'<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">harbour-tour</dc:identifier><dc:title>{xml(title)}</dc:title><dc:language>en</dc:language><meta property="dcterms:modified">2024-01-01T00:00:00Z</meta></metadata><manifest><item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>{items}</manifest><spine>{spine}</spine></package>'),
        ("text/nav.xhtml", page(title, f'<nav epub:type="toc"><ol>{nav}</ol></nav>')),
    ]
    for n, (name, paragraphs) in enumerate(chapters, 1):
        parts.append((f"text/chapter{n}.xhtml", page(name, f"<h1>{xml(name)}</h1>" + "".join(f"<p>{xml(p)}</p>" for p in paragraphs))))
    write_zip(path, parts)


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "documents")
    for folder in ("products", "hr", "letters"):
        os.makedirs(os.path.join(out, folder), exist_ok=True)
    for name, document in (("products/tide-gauge-manual.pdf", GAUGE), ("hr/travel-policy.pdf", TRAVEL)):
        with open(os.path.join(out, name), "wb") as f:
            f.write(make_pdf(document))
    make_docx(os.path.join(out, "hr/employee-survey.docx"), SURVEY)
    make_epub(os.path.join(out, "letters/harbour-tour.epub"), TOUR)


if __name__ == "__main__":
    main()
